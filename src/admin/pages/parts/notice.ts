import type { FastifyReply, FastifyRequest } from 'fastify';
import { isHttps } from '../../http/proxies.ts';

/** Result of an action, in one or two sentences, which the next page shows. */
export interface Notice {
  readonly kind: 'good' | 'bad';
  readonly text: string;
  /** Details, one per line. */
  readonly lines?: readonly string[];
}

const NAME = 'leadsync_notice';
const COOKIE = /(?:^|;\s*)leadsync_notice=([^;]+)/;
const LASTS_SECONDS = 30;
/** Maximum size of the notice in the cookie, in bytes. Browsers drop a cookie of more than 4,096 bytes, including its attributes. */
const MAX_BYTES = 3_500;

/** Stores a notice for the next page in a cookie, shortened to fit. If the address held the notice, a link could forge it. */
export function leaveNotice(reply: FastifyReply, { kind, text, lines = [] }: Notice): void {
  const fittingLines: string[] = [];
  let left = MAX_BYTES;
  for (const line of [text, ...lines]) {
    const fitting = shortened(line, left);
    if (fitting === '') break;
    fittingLines.push(fitting);
    left -= encodedBytes(fitting);
  }
  setCookie(reply, JSON.stringify([kind, ...fittingLines]), LASTS_SECONDS);
}

/** Returns the notice that the previous page left, if any, and removes it. */
export function takeNotice(request: FastifyRequest, reply: FastifyReply): Notice | undefined {
  const value = COOKIE.exec(request.headers.cookie ?? '')?.[1];
  if (value === undefined) return undefined;
  setCookie(reply, '', 0);
  return readNotice(value);
}

function readNotice(value: string): Notice | undefined {
  try {
    const [kind, text, ...lines] = JSON.parse(decodeURIComponent(value)) as unknown[];
    return { kind: kind === 'good' ? 'good' : 'bad', text: String(text), lines: lines.map(String) };
  } catch {
    return undefined; // another program's cookie, or a damaged one
  }
}

function shortened(text: string, bytes: number): string {
  let fitting = text.toWellFormed();
  while (fitting !== '' && encodedBytes(fitting) > bytes)
    fitting = fitting.slice(0, Math.floor(fitting.length * 0.8)).toWellFormed();
  return fitting;
}

/** Returns the size of the text in the cookie, in bytes, including JSON's quotes and escapes. */
function encodedBytes(text: string): number {
  return encodeURIComponent(JSON.stringify(text)).length;
}

function setCookie(reply: FastifyReply, value: string, maxAgeSeconds: number): void {
  const content = `${NAME}=${encodeURIComponent(value)}`;
  reply.header(
    'set-cookie',
    `${content}; Path=/; HttpOnly; SameSite=Strict; Max-Age=${maxAgeSeconds}${isHttps(reply.request) ? '; Secure' : ''}`,
  );
}

import type { FastifyReply, FastifyRequest } from 'fastify';
import { isHttps } from '../../http/proxies.ts';

/** What came of an action, in one or two sentences, for the page that is shown next. */
export interface Notice {
  readonly kind: 'good' | 'bad';
  readonly text: string;
  /** What else there is to say, a line each. */
  readonly lines?: readonly string[];
}

const NAME = 'leadsync_notice';
const COOKIE = /(?:^|;\s*)leadsync_notice=([^;]+)/;
const LASTS_SECONDS = 30;
/** Browsers drop a cookie of more than 4,096 bytes, its attributes included. */
const MAX_BYTES = 3_500;

/** Hands a notice to the page that is asked for next. A cookie, so that no link can put words into our mouth. */
export function leaveNotice(reply: FastifyReply, { kind, text, lines = [] }: Notice): void {
  const told: string[] = [];
  let left = MAX_BYTES;
  for (const line of [text, ...lines]) {
    const fitting = shortened(line, left);
    if (fitting === '') break;
    told.push(fitting);
    left -= encodedBytes(fitting);
  }
  setCookie(reply, JSON.stringify([kind, ...told]), LASTS_SECONDS);
}

/** The notice that was left for this page; it is shown once. */
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
    return undefined; // not one of ours
  }
}

function shortened(text: string, bytes: number): string {
  let fitting = text.toWellFormed();
  while (fitting !== '' && encodedBytes(fitting) > bytes)
    fitting = fitting.slice(0, Math.floor(fitting.length * 0.8)).toWellFormed();
  return fitting;
}

/** As the cookie will have it, quotes and escapes of JSON included. */
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

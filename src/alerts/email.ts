import { z } from 'zod';
import { codeOf } from '../platform/failures/error-code.ts';
import { isLoopback } from '../platform/http/loopback.ts';
import { secret } from '../platform/options/option-types.ts';
import { DeadlinePassed, withinDeadline } from '../platform/time/deadline.ts';
import { DestinationError, defineDestination } from './destination.ts';
import { type Message, subjectOf, textOf } from './notice.ts';
import { TIMEOUT_MS } from './post.ts';

const WRONG_SERVER =
  'must be an address such as smtp://user:password@mail.example.com:587, or smtps:// for TLS from the start';

const address = z.email('must be an email address such as ops@example.com');

/** Notices by email. */
export const email = defineDestination({
  type: 'email',
  summary: 'Sends notices by email, through an SMTP server.',
  options: z.strictObject({
    server: secret()
      .refine((value) => isSmtpUrl(value.reveal()), WRONG_SERVER)
      .describe(
        'smtp://user:password@host:587, or smtps:// for TLS from the start. With a password, smtp:// insists on STARTTLS unless the server is on this machine. Only its host and port are ever shown.',
      ),
    from: address.describe('Whom notices come from.'),
    to: z.array(address).min(1).describe('Whom they go to.'),
  }),
  open: ({ server, from, to }) => {
    const url = new URL(server.reveal());
    return {
      send: (message, signal) =>
        reach(url, signal, async (transport) => {
          await transport.sendMail(mailOf(message, from, to));
        }),
      check: (signal) =>
        reach(url, signal, async (transport) => {
          await transport.verify();
        }),
    };
  },
});

function isSmtpUrl(text: string): boolean {
  const url = URL.parse(text);
  return url !== null && ['smtp:', 'smtps:'].includes(url.protocol) && url.hostname !== '';
}

function mailOf(message: Message, from: string, to: readonly string[]) {
  return {
    from,
    to: [...to],
    subject: subjectOf(message),
    text: `${textOf(message)}\n`,
    // A message that is sent once more is the same one to whoever already has it (RFC 5322, section 3.6.4).
    messageId: `<${message.id}@leadsync>`,
    // No answer by a machine is wanted (RFC 3834, section 5).
    headers: { 'Auto-Submitted': 'auto-generated' },
    disableFileAccess: true,
    disableUrlAccess: true,
  };
}

async function reach(
  url: URL,
  signal: AbortSignal,
  use: (transport: Awaited<ReturnType<typeof connectTo>>) => Promise<void>,
): Promise<void> {
  const transport = await connectTo(url);
  try {
    await withinDeadline(WHOLE_MS, signal, () => use(transport));
  } catch (cause) {
    throw new DestinationError(...wordsOf(cause, url), cause);
  } finally {
    transport.close();
  }
}

async function connectTo({ protocol, hostname, port, username, password }: URL) {
  const { createTransport } = await import('nodemailer'); // most installs send no mail
  const secure = protocol === 'smtps:';
  const host = hostname.replace(/^\[|\]$/g, '');
  const user = decodeURIComponent(username);
  return createTransport({
    host,
    port: Number(port) || (secure ? 465 : 587),
    secure,
    requireTLS: !secure && password !== '' && !isLoopback(host),
    ...(user ? { auth: { user, pass: decodeURIComponent(password) } } : {}),
    connectionTimeout: TIMEOUT_MS,
    greetingTimeout: TIMEOUT_MS,
    socketTimeout: TIMEOUT_MS,
  });
}

/** As long as a whole mail may take, in ms; each of its steps has a time of its own. */
const WHOLE_MS = 4 * TIMEOUT_MS;

/** By nodemailer's codes; the server's own words are not repeated, for they may hold anything. */
function wordsOf(error: unknown, { host }: URL): [what: string, hint: string] {
  const { responseCode } = error as { responseCode?: unknown };
  if (error instanceof DeadlinePassed)
    return [`The mail server ${host} took longer than ${WHOLE_MS / 1000} s.`, 'See whether it hangs.'];
  const said = typeof responseCode === 'number' ? ` (${responseCode})` : '';
  switch (codeOf(error)) {
    case 'EAUTH':
      return [
        `The mail server ${host} refuses the user or the password${said}.`,
        'Correct them in `alerts.to`.',
      ];
    case 'EENVELOPE':
    case 'EMESSAGE':
      return [
        `The mail server ${host} refuses the sender, a receiver or the message${said}.`,
        'See whether `from` and `to` are right, and what its log says.',
      ];
    case 'ETLS':
      return [
        `The mail server ${host} does not agree on TLS.`,
        'Use smtps:// or a server that offers STARTTLS.',
      ];
    default:
      return [
        `The mail server ${host} cannot be used (${codeOf(error) ?? 'unknown'})${said}.`,
        'See whether it runs, and whether host and port are right.',
      ];
  }
}

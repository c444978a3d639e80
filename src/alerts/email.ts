import { z } from 'zod';
import { codeOf } from '../platform/failures/error-code.ts';
import { isSmtpUrl, openTransport, PROGRAM_MAIL, WRONG_SMTP_URL } from '../platform/mail/smtp.ts';
import { builtOnce } from '../platform/options/built-once.ts';
import { secret } from '../platform/options/option-types.ts';
import { DeadlinePassed, withinDeadline } from '../platform/time/deadline.ts';
import { DestinationError, defineDestination } from './destination.ts';
import { type Message, subjectOf, textOf } from './notice.ts';
import { TIMEOUT_MS } from './post-json.ts';

const options = builtOnce(() => {
  const address = z.email('must be an email address such as ops@example.com');
  return z.strictObject({
    server: secret()
      .refine((value) => isSmtpUrl(value.reveal()), WRONG_SMTP_URL)
      .describe(
        'URL of the SMTP server: smtp://user:password@host:587, or smtps:// for TLS from the start. With a password, smtp:// requires STARTTLS unless the server is on this machine. leadsync shows only its host and port.',
      ),
    from: address.describe('Sender of notices.'),
    to: z.array(address).min(1).describe('Recipients of notices.'),
  });
});

/** Sends notices by email. */
export const email = defineDestination({
  type: 'email',
  summary: 'Sends notices by email, through an SMTP server.',
  get options() {
    return options();
  },
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

function mailOf(message: Message, from: string, to: readonly string[]) {
  return {
    from,
    to: [...to],
    subject: subjectOf(message),
    text: `${textOf(message)}\n`,
    // The same id for every attempt lets a mail client recognise a repeat (RFC 5322, section 3.6.4).
    messageId: `<${message.id}@leadsync>`,
    ...PROGRAM_MAIL,
  };
}

async function reach(
  url: URL,
  signal: AbortSignal,
  use: (transport: Awaited<ReturnType<typeof openTransport>>) => Promise<void>,
): Promise<void> {
  const transport = await openTransport(url, TIMEOUT_MS);
  try {
    await withinDeadline(TOTAL_MS, signal, () => use(transport));
  } catch (cause) {
    throw new DestinationError(...describeError(cause, url), cause);
  } finally {
    transport.close();
  }
}

/** Maximum time for sending one email or for one check, in ms. Each step also has its own limit. */
const TOTAL_MS = 4 * TIMEOUT_MS;

/** Describes an error from its nodemailer error code. Omits the server's own text, which can contain anything. */
function describeError(error: unknown, { host }: URL): [what: string, hint: string] {
  const { responseCode } = error as { responseCode?: unknown };
  if (error instanceof DeadlinePassed)
    return [
      `The mail server ${host} took longer than ${TOTAL_MS / 1000} s.`,
      'Check whether the server is hanging.',
    ];
  const status = typeof responseCode === 'number' ? ` (${responseCode})` : '';
  switch (codeOf(error)) {
    case 'EAUTH':
      return [
        `The mail server ${host} rejects the user name or the password${status}.`,
        'Correct them in `alerts.to`.',
      ];
    case 'EENVELOPE':
    case 'EMESSAGE':
      return [
        `The mail server ${host} rejects the sender, a recipient or the message${status}.`,
        'Check `from` and `to`, and the log of the server.',
      ];
    case 'ETLS':
      return [
        `The TLS handshake with the mail server ${host} fails.`,
        'Use smtps:// or a server that offers STARTTLS.',
      ];
    default:
      return [
        `The mail server ${host} does not work (${codeOf(error) ?? 'unknown'})${status}.`,
        'Check that the server is running, and that the host and port are correct.',
      ];
  }
}

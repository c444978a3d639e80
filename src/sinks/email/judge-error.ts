import { type Refused, storedAnswer } from '../../leads/outcome.ts';
import { networkFailure } from '../../platform/failures/network-failure.ts';
import { DeadlinePassed } from '../../platform/time/deadline.ts';
import { SinkUnavailable } from '../sink-unavailable.ts';

/** The facts about an email that could not be sent. */
export interface SendFailure {
  readonly error: unknown;
  /** Whether leadsync ended the attempt. */
  readonly isStopped: boolean;
  /** Whether leadsync had not yet begun to send an envelope. */
  readonly isUnsent: boolean;
  readonly timeoutMs: number;
}

/** What nodemailer reports about a failure. */
interface SmtpError {
  readonly code?: unknown;
  readonly originalCode?: unknown;
  /** The command that the server answered: `RCPT TO`, `DATA`, `AUTH PLAIN`. */
  readonly command?: unknown;
  readonly responseCode?: unknown;
  /** The server's answer. It may repeat an address. */
  readonly response?: unknown;
}

/** SMTP reply codes that mean that the mailbox is at fault (RFC 5321, section 4.2.3). Used if the reply has no enhanced status code. */
const WRONG_MAILBOX: ReadonlySet<number> = new Set([550, 551, 553]);

/**
 * Returns the outcome of an email that could not be sent. The lead is at fault if the server refuses the message, or the mailboxes in `to`,
 * which are chosen for each lead. The server or the configuration is at fault if the answer is temporary, or is about the login or the
 * sender.
 */
export function judgeSmtpError(host: string, failure: SendFailure): Refused | SinkUnavailable {
  const { error, isUnsent } = failure;
  const { command, responseCode, response } = (error ?? {}) as SmtpError;
  if (error instanceof SinkUnavailable) return error;
  if (typeof responseCode !== 'number' || responseCode < 400) return noAnswer(host, failure);
  const answer = storedAnswer(typeof response === 'string' ? response : undefined);
  const refuses = refusalOf(String(command), responseCode, answer ?? '');
  if (refuses) return { kind: 'refused', reason: `${host} ${refuses} (${responseCode}).`, answer };
  const [what, hint] = failureOf(String(command));
  return new SinkUnavailable(`${host} ${what} (${responseCode}).`, {
    hint: responseCode < 500 ? "The answer is temporary. If this continues, see the server's log." : hint,
    answer,
    unsent: isUnsent,
    mayHaveArrived: false,
  });
}

/** Returns the server's permanent refusal because of the lead, as a phrase; undefined if the lead is not at fault. */
function refusalOf(command: string, responseCode: number, response: string): string | undefined {
  if (responseCode < 500) return undefined;
  if (command === 'DATA') return 'refused the email';
  if (responseCode === 552 && command === 'MAIL FROM') return 'refused the email because of its size';
  if (command !== 'RCPT TO') return undefined;
  const [, subject] = /^\d{3}[ -]5\.(\d{1,3})\.\d/.exec(response) ?? [];
  // 5.1 is the address, 5.2 the mailbox; others, such as 5.7, are rules of the server (RFC 3463).
  const isMailbox = subject === undefined ? WRONG_MAILBOX.has(responseCode) : ['1', '2'].includes(subject);
  return isMailbox ? 'refused every recipient' : undefined;
}

/** Returns the meaning of an answer to a command, and the next step. */
function failureOf(command: string): [what: string, hint: string] {
  if (command.startsWith('AUTH'))
    return ['does not accept the user or the password', 'Correct them in `server`.'];
  if (command === 'MAIL FROM')
    return ['does not accept the sender', 'Correct `from`, or allow leadsync to send as that address.'];
  if (command === 'RCPT TO')
    return [
      'does not send to the recipients',
      'Allow leadsync to send through the server, and see its log for the rule.',
    ];
  return ['answered with an error', 'See the log of the server.'];
}

function noAnswer(host: string, { error, isStopped, isUnsent, timeoutMs }: SendFailure): SinkUnavailable {
  const { what, hint } = wordsFor(error, isStopped, timeoutMs);
  return new SinkUnavailable(`${host} ${what}.`, { hint, unsent: isUnsent, cause: error });
}

function wordsFor(error: unknown, isStopped: boolean, timeoutMs: number): { what: string; hint: string } {
  if (isStopped) return { what: 'had not answered when leadsync ended the attempt', hint: '' };
  if (error instanceof DeadlinePassed)
    return {
      what: `did not answer within ${timeoutMs / 1000} s`,
      hint: 'Check whether the server hangs, or raise `timeout`.',
    };
  const { code, originalCode } = (error ?? {}) as SmtpError;
  if (typeof originalCode === 'string')
    return networkFailure(Object.assign(new Error(), { code: originalCode }));
  switch (code) {
    case 'ETLS':
      return {
        what: 'could not set up a TLS connection with leadsync',
        hint: 'Use smtps:// or a server that offers STARTTLS.',
      };
    case 'EAUTH':
      return {
        what: 'offers no login that leadsync can use',
        hint: "Check `server`, and the server's settings.",
      };
    case 'ECONNECTION':
      return {
        what: 'closed the connection',
        hint: 'Check that the port is that of an SMTP server, and see the log of the server.',
      };
    case 'EPROTOCOL':
      return { what: 'does not answer in SMTP', hint: 'Check the host and port in `server`.' };
    default:
      return networkFailure(error);
  }
}

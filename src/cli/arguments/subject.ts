import type { Subject } from '../../leads/person.ts';
import { CommandFailure } from '../shell/command-failure.ts';
import type { Surroundings } from '../shell/context.ts';
import { ExitCode } from '../shell/exit-code.ts';
import { readLeadId } from './filter.ts';

/** Number of characters after which reading from standard input stops: more than any email address has. */
const MAX_CHARACTERS = 1_000;

/**
 * Returns the person that a command's argument identifies. With `-`, reads the first line of standard input, because arguments appear
 * in the process list and the shell history. @throws CommandFailure
 */
export async function subjectOf(given: string, stdin: Surroundings['stdin']): Promise<Subject> {
  return readSubject(given === '-' ? await firstLine(stdin) : given);
}

/** Returns the first line of standard input, without blanks around it. Reads no more than a little over `MAX_CHARACTERS`. */
export async function firstLine(stdin: Surroundings['stdin']): Promise<string> {
  let text = '';
  for await (const chunk of stdin) {
    text += String(chunk);
    if (text.includes('\n') || text.length > MAX_CHARACTERS) break;
  }
  return text.split('\n', 1)[0]?.trim() ?? '';
}

/**
 * Parses a subject: digits alone are a lead id, and a word with an `@` is an email address. Everything else must be a phone number, which
 * begins with `+` or `0`, or contains spaces or punctuation. @throws CommandFailure
 */
function readSubject(text: string): Subject {
  if (/^[1-9]\d{0,18}$/.test(text)) return { kind: 'lead', lead: readLeadId(text) };
  if (/^\s*\S+@\S+\s*$/.test(text)) return { kind: 'email', contact: text };
  if (/^[+\d][\d\s()./-]{4,}$/.test(text.trim())) return { kind: 'phone', contact: text };
  throw new CommandFailure(
    ExitCode.usage,
    // Does not quote the text, which may be a name, because output may be stored.
    'This is not a lead id, email address or phone number.',
    'Begin a phone number with + or 0.',
  );
}

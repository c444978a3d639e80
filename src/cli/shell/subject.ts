import type { Subject } from '../../leads/person.ts';
import { CommandFailure } from './command-failure.ts';
import type { Surroundings } from './context.ts';
import { ExitCode } from './exit-code.ts';
import { readLeadId } from './filter.ts';

/** Longer than any email address. */
const LONGEST = 1_000;

/**
 * The person whom a command's argument means. With `-` it is the first line of standard input: other users of the machine
 * can read arguments in the list of processes, and the shell keeps them. @throws CommandFailure
 */
export async function subjectOf(given: string, stdin: Surroundings['stdin']): Promise<Subject> {
  return readSubject(given === '-' ? await firstLine(stdin) : given);
}

async function firstLine(stdin: Surroundings['stdin']): Promise<string> {
  let text = '';
  for await (const chunk of stdin) {
    text += String(chunk);
    if (text.includes('\n') || text.length > LONGEST) break;
  }
  return text.split('\n', 1)[0]?.trim() ?? '';
}

/**
 * Reads whom a command means: digits alone are a lead's id, with an `@` it is an email address, else a phone number, which begins with
 * `+` or `0`, or has spaces or signs in it. @throws CommandFailure
 */
function readSubject(text: string): Subject {
  if (/^[1-9]\d{0,18}$/.test(text)) return { kind: 'lead', lead: readLeadId(text) };
  if (/^\s*\S+@\S+\s*$/.test(text)) return { kind: 'email', contact: text };
  if (/^[+\d][\d\s()./-]{4,}$/.test(text.trim())) return { kind: 'phone', contact: text };
  throw new CommandFailure(
    ExitCode.usage,
    // It may be a name, and what is printed may be kept: it is not repeated.
    'This is no lead id, email address or phone number.',
    'A phone number begins with + or 0.',
  );
}

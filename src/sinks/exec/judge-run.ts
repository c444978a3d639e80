import { constants } from 'node:os';
import { basename } from 'node:path';
import { codeOf } from '../../platform/failures/error-code.ts';
import { SinkUnavailable } from '../sink-unavailable.ts';
import type { Acknowledgement } from './program-protocol.ts';
import type { Run } from './run-program.ts';

/** A run in which the program did not take the leads. It is not yet known whether a lead or the program is at fault. */
export interface FailedRun {
  /** What happened, as a clause that follows the name of the program. */
  readonly what: string;
  readonly hint: string;
  /** The last lines on standard error. May contain text from a lead. */
  readonly answer: string | undefined;
  /** Whether the program itself says that a lead is at fault. */
  readonly blamesLead: boolean;
}

/** What is needed to judge a run, besides the run itself. */
interface RunContext {
  /** The program as the configuration names it. */
  readonly program: string;
  readonly timeoutMs: number;
  readonly wants: Acknowledgement | undefined;
  readonly secrets: readonly string[];
}

/** Exit codes with a special meaning, from sysexits.h (BSD) and from shells (POSIX, 2.8.2 Exit Status for Commands). */
const [DATA_ERROR, TRY_LATER, NOT_EXECUTABLE, NOT_FOUND, SIGNALLED] = [65, 75, 126, 127, 128];
const SIGNAL_NAMES = new Map(Object.entries(constants.signals).map(([name, number]) => [number, name]));
/** Maximum number of characters of standard error to store. */
const MAX_ANSWER = 1000;

const SEE = '`leadsync trace LEAD --show-data` shows the end of its standard error.';

/**
 * Judges a run. Returns undefined if the program took the leads.
 * @throws SinkUnavailable if the program as a whole is known to be at fault, or leadsync ended it
 */
export function judgeRun(
  run: Run,
  { program, timeoutMs, wants, secrets }: RunContext,
): FailedRun | undefined {
  const { code, wasFed, cut } = run;
  if (code === 0 && wants?.isGiven) return undefined;
  const answer = answerOf(run, secrets);
  const unavailable = (what: string, hint: string) =>
    new SinkUnavailable(`${basename(program)} ${what}.`, { hint, answer });
  if (cut === 'stop') throw unavailable('was still running when leadsync ended the attempt', '');
  const failed = (what: string, hint = SEE): FailedRun => ({
    what,
    hint,
    answer,
    blamesLead: code === DATA_ERROR && cut === undefined,
  });
  if (cut === 'timeout')
    return failed(`did not end within ${timeoutMs / 1000} s`, 'Check whether it hangs, or raise `timeout`.');
  if (code === 0 && !wasFed)
    throw unavailable(
      'ended with exit code 0 before it had read every lead',
      'It must read its standard input to the end.',
    );
  if (code === 0 && wants)
    return failed(
      'ended with exit code 0 and did not write the STATE to standard output',
      `It must be a Singer target. ${SEE}`,
    );
  if (code === 0) return undefined;
  if (code === TRY_LATER)
    throw unavailable(`ended with exit code ${code}, which means "try again later"`, SEE);
  if (code === NOT_FOUND || code === NOT_EXECUTABLE)
    throw unavailable(
      `ended with exit code ${code}, which means that a program is ${code === NOT_FOUND ? 'missing' : 'not executable'}`,
      `Check the first line (#!) of the program, and what it calls. ${SEE}`,
    );
  const signal = SIGNAL_NAMES.get(code - SIGNALLED);
  return failed(`ended with exit code ${code}${signal === undefined ? '' : ` (${signal})`}`);
}

/** Returns the error for a failed run that is not known to be the fault of a lead. */
export function runUnavailable(program: string, { what, hint, answer }: FailedRun): SinkUnavailable {
  return new SinkUnavailable(`${basename(program)} ${what}.`, { hint, answer });
}

const NO_PROCESS =
  'The machine, or a limit of the service, allows no more processes, memory or open files. Raise the limit, or stop other processes.';

/** Returns the error for a program that could not be started. */
export function notStarted(program: string, cause: unknown): SinkUnavailable {
  const code = codeOf(cause) ?? 'unknown error';
  const hint =
    code === 'ENOENT'
      ? 'leadsync starts it through /bin/sh, in the folder `cwd`: both must exist.'
      : code === 'E2BIG'
        ? 'Its arguments and `env` are too long: put values into a file.'
        : NO_PROCESS;
  return new SinkUnavailable(`${basename(program)} could not be started (${code}).`, {
    hint,
    unsent: true,
    cause,
  });
}

/** Returns the end of standard error without secrets; undefined if the program wrote nothing. */
function answerOf({ stderr }: Run, secrets: readonly string[]): string | undefined {
  let text = stderr.toString('utf8').toWellFormed().trim();
  for (const secret of secrets) text = text.replaceAll(secret, '[secret]');
  return text === '' ? undefined : text.slice(-MAX_ANSWER).toWellFormed();
}

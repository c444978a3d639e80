import { createInterface } from 'node:readline';
import { CommandFailure } from './command-failure.ts';
import type { Surroundings } from './context.ts';
import { ExitCode } from './exit-code.ts';

/** The options with which a command can be tried out, and confirmed in advance. */
export interface ConfirmOptions {
  readonly dryRun?: boolean;
  readonly yes?: boolean;
}

/** An action that a person must confirm. */
export interface Question {
  /** What the action would do, in a sentence without a full stop: `This sends 1,240 leads to crm again`. */
  readonly effect: string;
  /** Whether a script, which cannot answer, must confirm with `--yes`. If not, only a person on a terminal is asked. */
  readonly scriptsNeedYes: boolean;
}

/** Whether standard input is a terminal, on which a person can answer. */
export function canAnswer({ stdin }: Pick<Surroundings, 'stdin'>): boolean {
  return stdin.isTTY === true;
}

/**
 * Waits until the action is confirmed: by `--yes`, by a person on the terminal, or because it needs no confirmation in a script. The
 * question goes to standard error, so that standard output contains only data. @throws CommandFailure otherwise; nothing was changed
 */
export async function confirmAction(
  { effect, scriptsNeedYes }: Question,
  { yes }: ConfirmOptions,
  surroundings: Surroundings,
): Promise<void> {
  if (yes) return;
  if (!canAnswer(surroundings)) {
    if (!scriptsNeedYes) return;
    throw new CommandFailure(
      ExitCode.notDone,
      `Nothing was changed. ${effect}.`,
      'Run the same command with --yes to do it, or with --dry-run to see the details.',
    );
  }
  if (await isConfirmed(`${effect}. Continue? [y/N] `, surroundings)) return;
  throw new CommandFailure(ExitCode.notDone, 'Nothing was changed.');
}

/** Asks a question. The end of the input counts as no. */
async function isConfirmed(question: string, { stdin, stderr }: Surroundings): Promise<boolean> {
  stderr.write(question);
  const lines = createInterface({ input: stdin });
  try {
    const { value = '' } = await lines[Symbol.asyncIterator]().next();
    return /^y(es)?$/i.test(String(value).trim());
  } finally {
    lines.close();
  }
}

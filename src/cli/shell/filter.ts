import type { Command } from 'commander';
import type { LeadId } from '../../leads/lead.ts';
import { MAX_LEAD_ID } from '../../leads/lead.ts';
import { printable } from '../../platform/text/printable.ts';
import { MOMENT_FORMS } from '../../platform/time/moment.ts';
import { CommandFailure } from './command-failure.ts';
import type { Surroundings } from './context.ts';
import { ExitCode } from './exit-code.ts';
import { readMoment } from './moment.ts';

/** The options by which commands choose deliveries or leads. */
export interface FilterOptions {
  readonly sink?: string;
  readonly source?: string;
  readonly lead?: LeadId;
  readonly since?: Date;
  readonly until?: Date;
}

/** Declares `--source`, `--lead`, `--since` and `--until`. `what` is what happened at that time: `owed`. */
export function declareFilter(command: Command, { clock }: Surroundings, what: string): void {
  const moment = (text: string) => readMoment(text, clock.now());
  command
    .option('--source <name>', 'only leads of this source')
    .option('--lead <id>', 'only this lead', readOneLeadId)
    .option('--since <time>', `only what was ${what} at or after it: ${MOMENT_FORMS}`, moment)
    .option('--until <time>', `only what was ${what} before it`, moment);
}

/** Reads a lead's id, exact to the last digit. @throws CommandFailure */
export function readLeadId(text: string): LeadId {
  if (/^\d{1,19}$/.test(text) && BigInt(text) >= 1n && BigInt(text) <= MAX_LEAD_ID) return BigInt(text);
  throw new CommandFailure(
    ExitCode.usage,
    `'${printable(text)}' is no lead id: a whole number from 1 to ${MAX_LEAD_ID}.`,
  );
}

/** One command means one lead: a second id would silently take the place of the first. @throws CommandFailure */
function readOneLeadId(text: string, before: LeadId | undefined): LeadId {
  const id = readLeadId(text);
  if (before === undefined || before === id) return id;
  throw new CommandFailure(
    ExitCode.usage,
    `--lead names one lead, and was given ${before} and ${id}.`,
    'Run the command once for each.',
  );
}

/** Makes sure that `--all` stands alone: beside a choice, one of the two is a mistake. @throws CommandFailure */
export function requireAllAlone(all: boolean | undefined, chosen: boolean): void {
  if (!all || !chosen) return;
  throw new CommandFailure(
    ExitCode.usage,
    '--all means everything, and the rest of this command means a part of it.',
    'Leave one of the two out.',
  );
}

/** Makes sure that there is time between `--since` and `--until`. @throws CommandFailure */
export function requireOrder({ since, until }: FilterOptions): void {
  if (since && until && since >= until)
    throw new CommandFailure(
      ExitCode.usage,
      `Nothing lies between ${since.toISOString()} (--since) and ${until.toISOString()} (--until).`,
      '--since is the earlier one; durations count back from now.',
    );
}

/** The part of a command's options that the ledger can filter by. */
export function filterOf({ sink, source, lead, since, until }: FilterOptions): FilterOptions {
  const filter = { sink, source, lead, since, until };
  return Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== undefined));
}

/** Whether the options choose anything at all. */
export function choosesAnything(options: FilterOptions): boolean {
  return Object.keys(filterOf(options)).length > 0;
}

import type { Command } from 'commander';
import type { LeadId } from '../../leads/lead.ts';
import { MAX_LEAD_ID } from '../../leads/lead.ts';
import { printable } from '../../platform/text/printable.ts';
import { MOMENT_FORMS } from '../../platform/time/moment.ts';
import { CommandFailure } from './command-failure.ts';
import type { Surroundings } from './context.ts';
import { ExitCode } from './exit-code.ts';
import { readMoment } from './moment.ts';

/** The options with which commands select deliveries or leads. */
export interface FilterOptions {
  readonly sink?: string;
  readonly source?: string;
  readonly lead?: LeadId;
  readonly since?: Date;
  readonly until?: Date;
}

/** Declares `--source`, `--lead`, `--since` and `--until`. `what` says what happened at these times, such as `owed`. */
export function declareFilter(command: Command, { clock }: Surroundings, what: string): void {
  const moment = (text: string) => readMoment(text, clock.now());
  command
    .option('--source <name>', 'only leads of this source')
    .option('--lead <id>', 'only this lead', readOneLeadId)
    .option('--since <time>', `only what was ${what} at this time or later: ${MOMENT_FORMS}`, moment)
    .option('--until <time>', `only what was ${what} before this time`, moment);
}

/** Parses a lead id without loss of precision. @throws CommandFailure */
export function readLeadId(text: string): LeadId {
  if (/^\d{1,19}$/.test(text) && BigInt(text) >= 1n && BigInt(text) <= MAX_LEAD_ID) return BigInt(text);
  throw new CommandFailure(
    ExitCode.usage,
    `'${printable(text)}' is not a lead id: a whole number from 1 to ${MAX_LEAD_ID}.`,
  );
}

/** Refuses a second `--lead`, which would silently replace the first. @throws CommandFailure */
function readOneLeadId(text: string, before: LeadId | undefined): LeadId {
  const id = readLeadId(text);
  if (before === undefined || before === id) return id;
  throw new CommandFailure(
    ExitCode.usage,
    `--lead takes one lead, but got ${before} and ${id}.`,
    'Run the command once for each.',
  );
}

/** Refuses `--all` together with a selection, because one of them must be a mistake. @throws CommandFailure */
export function refuseAllWithSelection(all: boolean | undefined, chosen: boolean): void {
  if (!all || !chosen) return;
  throw new CommandFailure(
    ExitCode.usage,
    '--all selects everything, but other options of this command select a part.',
    'Remove one of the two.',
  );
}

/** Refuses a `--since` that is not before `--until`. @throws CommandFailure */
export function requireOrder({ since, until }: FilterOptions): void {
  if (since && until && since >= until)
    throw new CommandFailure(
      ExitCode.usage,
      `There is no time between ${since.toISOString()} (--since) and ${until.toISOString()} (--until).`,
      '--since must be before --until; durations count back from now.',
    );
}

/** Returns the options that the ledger can filter by, without those that are not set. */
export function filterOf({ sink, source, lead, since, until }: FilterOptions): FilterOptions {
  const filter = { sink, source, lead, since, until };
  return Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== undefined));
}

/** Whether any of the options is set. Without any, a filter matches everything. */
export function hasSelection(options: FilterOptions): boolean {
  return Object.keys(filterOf(options)).length > 0;
}

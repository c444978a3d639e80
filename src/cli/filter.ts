import { type Command, InvalidArgumentError } from 'commander';
import type { LeadId } from '../leads/lead.ts';
import { MAX_LEAD_ID } from '../leads/lead.ts';
import type { Surroundings } from './context.ts';
import { ExitCode } from './exit-code.ts';
import { CommandFailure } from './failure.ts';
import { MOMENT_HELP, readMoment } from './moment.ts';

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
    .option('--lead <id>', 'only this lead', readLeadId)
    .option('--since <time>', `only what was ${what} at or after it: ${MOMENT_HELP}`, moment)
    .option('--until <time>', `only what was ${what} before it`, moment);
}

/** Reads a lead's id, exact to the last digit. @throws InvalidArgumentError */
export function readLeadId(text: string): LeadId {
  if (!/^\d{1,19}$/.test(text) || BigInt(text) > MAX_LEAD_ID)
    throw new InvalidArgumentError("A lead's id is a whole number such as 42.");
  return BigInt(text);
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

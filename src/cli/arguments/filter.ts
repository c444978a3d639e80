import { type Command, InvalidArgumentError } from 'commander';
import type { LeadId } from '../../leads/lead.ts';
import { MAX_LEAD_ID } from '../../leads/lead.ts';
import { printable } from '../../platform/text/printable.ts';
import { MOMENT_FORMS } from '../../platform/time/parse-moment.ts';
import { CommandFailure } from '../shell/command-failure.ts';
import type { Surroundings } from '../shell/context.ts';
import { ExitCode } from '../shell/exit-code.ts';
import { readMoment } from './read-moment.ts';

/** The options with which commands select deliveries or leads. */
export interface FilterOptions {
  readonly sink?: string;
  readonly source?: string;
  readonly lead?: LeadId;
  readonly since?: Date;
  readonly until?: Date;
  readonly reason?: string;
  readonly webhookId?: string;
  readonly deliveredSince?: Date;
  readonly deliveredUntil?: Date;
}

/** The option with which commands select by a list of ids. */
export interface IdsOption {
  /** The file with the list; `-` is standard input. */
  readonly ids?: string;
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

/** Declares `--reason`. */
export function declareReason(command: Command): void {
  command.option(
    '--reason <text>',
    'only deliveries whose reason contains this text, or whose last attempt got this HTTP status, such as 422',
    readReason,
  );
}

/** Declares `--webhook-id`. */
export function declareWebhookId(command: Command): void {
  command.option(
    '--webhook-id <id>',
    'only what a receiver got under this webhook-id; a batch is searched for in the last 20,000 attempts',
  );
}

/** Declares `--delivered-since` and `--delivered-until`. */
export function declareDelivered(command: Command, { clock }: Surroundings): void {
  const moment = (text: string) => readMoment(text, clock.now());
  command
    .option('--delivered-since <time>', 'only what was delivered at this time or later', moment)
    .option('--delivered-until <time>', 'only what was delivered before this time', moment);
}

/** Declares `--ids`. */
export function declareIds(command: Command): void {
  command.option(
    '--ids <file>',
    'only these leads and deliveries: a file with one id on each line, or - for standard input',
  );
}

/** Refuses an empty reason, which every delivery would contain. @throws CommandFailure */
function readReason(text: string): string {
  if (text.trim() !== '') return text.trim();
  throw new CommandFailure(ExitCode.usage, '--reason needs text or an HTTP status.');
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
    '--all selects everything, but other options of this command narrow the selection.',
    'Remove --all, or the other options.',
  );
}

/** Requires `--since` to be before `--until`, and `--delivered-since` to be before `--delivered-until`. @throws CommandFailure */
export function requireOrder({ since, until, deliveredSince, deliveredUntil }: FilterOptions): void {
  requireBefore('', since, until);
  requireBefore('delivered-', deliveredSince, deliveredUntil);
}

function requireBefore(what: '' | 'delivered-', since: Date | undefined, until: Date | undefined): void {
  if (since && until && since >= until)
    throw new CommandFailure(
      ExitCode.usage,
      `There is no time between ${since.toISOString()} (--${what}since) and ${until.toISOString()} (--${what}until).`,
      `--${what}since must be before --${what}until; durations count back from now.`,
    );
}

/** Returns the options that the ledger can filter by, without those that are not set. */
export function filterOf(options: FilterOptions): FilterOptions {
  const { sink, source, lead, since, until, reason, deliveredSince, deliveredUntil, webhookId } = options;
  const filter = { sink, source, lead, since, until, reason, deliveredSince, deliveredUntil, webhookId };
  return Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== undefined));
}

/** Whether any of the options is set. Without any, a filter matches everything. */
export function hasSelection(options: FilterOptions): boolean {
  return Object.keys(filterOf(options)).length > 0;
}

/** Maximum number of rows in a list. */
const MAX_LIMIT = 100_000;

/** Parses `--limit`. @throws InvalidArgumentError */
export function readLimit(text: string): number {
  const limit = /^\d+$/.test(text) ? Number(text) : 0;
  if (limit < 1 || limit > MAX_LIMIT)
    throw new InvalidArgumentError(`It must be a number from 1 to ${MAX_LIMIT}.`);
  return limit;
}

import type { ActionTotals, ReplayCancellation, ReplayTotals } from '../../ledger/contract/ledger-control.ts';
import { countOf, printCount } from '../../platform/text/human-readable.ts';
import { printable } from '../../platform/text/printable.ts';

/** Maximum number of groups, and of ids, that are listed. */
const MAX_LISTED = 10;

/** Returns one line for each group of deliveries that an action would change, the largest first. */
export function groupLines({ groups }: ActionTotals): string[] {
  const lines = groups
    .slice(0, MAX_LISTED)
    .map(
      ({ sink, source, state, reason, deliveries }) =>
        `  ${printCount(deliveries)} ${state} for ${printable(sink)}, source ${printable(source)}${reason === undefined ? '' : `: ${printable(reason)}`}`,
    );
  const others = groups.slice(MAX_LISTED).reduce((sum, { deliveries }) => sum + deliveries, 0);
  return others === 0 ? lines : [...lines, `  and ${countOf(others, 'other')}`];
}

/** Returns the sources of the deliveries that an action would change. */
export function sourcesOf({ groups }: ActionTotals): string[] {
  return [...new Set(groups.map(({ source }) => source))].sort();
}

/** Returns a note if lead ids select leads from several sources; undefined otherwise. */
export function ambiguityNote(
  isByLeadId: boolean,
  source: string | undefined,
  sources: readonly string[],
): string | undefined {
  if (!isByLeadId || source !== undefined || sources.length < 2) return undefined;
  return `The lead ids select leads from several sources: ${sources.map(printable).join(', ')}. --source selects one.`;
}

/** Returns a note about the ids that select nothing; undefined if there are none. */
export function unmatchedNote(
  { unmatched }: Pick<ReplayTotals, 'unmatched'>,
  what: string,
): string | undefined {
  if (unmatched.length === 0) return undefined;
  const listed = unmatched.slice(0, MAX_LISTED).map(printable).join(', ');
  const more = unmatched.length > MAX_LISTED ? ` and ${countOf(unmatched.length - MAX_LISTED, 'other')}` : '';
  const verb = unmatched.length === 1 ? 'selects' : 'select';
  return `${countOf(unmatched.length, 'id')} ${verb} ${what}: ${listed}${more}.`;
}

/** Returns sentences that say what a cancellation did or, unless `isDone`, would do. */
export function cancellationText(
  { cancelled, attempted, needed }: ReplayCancellation,
  sink: string,
  isDone: boolean,
): string {
  const of = `of replays to ${printable(sink)}`;
  const first = isDone
    ? `${countOf(cancelled, 'pending delivery')} ${of} ${cancelled === 1 ? 'is' : 'are'} cancelled.`
    : `Dry run: ${countOf(cancelled, 'pending delivery')} ${of} would be cancelled.`;
  return [
    first,
    attempted > 0 &&
      `${countOf(attempted, 'delivery')} ${stay(attempted)}: an attempt is in progress, or a part was already sent.`,
    needed > 0 &&
      `${countOf(needed, 'delivery')} ${stay(needed)}: without ${needed === 1 ? 'it' : 'them'}, the sink would miss a lead version.`,
  ]
    .filter(Boolean)
    .join(' ');
}

function stay(n: number): string {
  return n === 1 ? 'stays' : 'stay';
}

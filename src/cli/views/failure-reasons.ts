import type { FailureReasons } from '../../ledger/contract/sink-activity.ts';
import { countOf, printCount } from '../../platform/text/human-readable.ts';
import { printable } from '../../platform/text/printable.ts';
import { table } from '../shell/table.ts';

/** Returns the reasons of dead and failed deliveries as a table. `width` is that of the terminal; undefined if there is none. */
export function reasonTable({ reasons }: FailureReasons, width: number | undefined): string {
  const columns = [
    { head: 'STATE' },
    { head: 'DELIVERIES', align: 'right' },
    { head: 'SINKS' },
    { head: 'REASON' },
  ] as const;
  const rows = reasons.map(({ state, deliveries, sinks, reason }) => [
    state,
    printCount(deliveries),
    sinks.map((one) => `${one.sink} ${printCount(one.deliveries)}`).join(', '),
    printable(reason),
  ]);
  return table(columns, rows, width);
}

/** Returns what the table does not count, in sentences; an empty text if it counts everything. */
export function notCounted({ others, isComplete }: FailureReasons): string {
  const other = `${countOf(others, 'more delivery has another reason', 'more deliveries have other reasons')}.\n`;
  const more =
    'There are more: of each sink, only the newest dead deliveries and the pending ones that are retried first are counted here.\n';
  return `${others > 0 ? other : ''}${isComplete ? '' : more}`;
}

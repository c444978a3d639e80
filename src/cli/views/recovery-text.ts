import type { Recovered } from '../../ledger/recovery/build-recovered.ts';
import { isUndamaged, type Recovery } from '../../operations/recover.ts';
import { countOf, printCount } from '../../platform/text/human-readable.ts';
import { printable } from '../../platform/text/printable.ts';
import { table } from '../shell/table.ts';

const COLUMNS = [
  { head: 'table' },
  { head: 'rows kept', align: 'right' },
  { head: 'unusable (max.)', align: 'right' },
] as const;

/** Returns a report on a recovery, as text without personal data. */
export function recoveryText(recovery: Recovery): string {
  const { file, damage, recovered, aside } = recovery;
  if (isUndamaged(recovery))
    return `The ledger ${printable(file)} is undamaged: there is nothing to recover.\n`;
  const rows = recovered.tables.map(({ table, kept, unusable }) => [
    table,
    printCount(kept),
    printCount(unusable),
  ]);
  const lines = [
    damage
      ? printable(damage.message)
      : `SQLite finds no damage in the ledger ${printable(file)}, but some of its rows are not as leadsync wrote them.`,
    '',
    table(COLUMNS, rows).trimEnd(),
    '',
    holdings(recovered),
    ...consequences(recovered).map((line) => `- ${line}`),
  ];
  return `${[...lines, ...(aside === undefined ? [] : ['', ...exchanged(file, aside)])].join('\n')}\n`;
}

function holdings({ leads, sinks, deliveries, erased }: Recovered): string {
  const states = Object.entries(deliveries).map(([state, n]) => `${printCount(n)} ${state}`);
  return `The recovered ledger has ${countOf(leads, 'lead')} (${printCount(erased)} erased), ${countOf(sinks, 'sink')}, and deliveries: ${states.join(', ')}.`;
}

function consequences(recovered: Recovered): string[] {
  const { leadsWithoutText, deliveriesRestored, deliveriesRepeated, deliveriesWaiting, sinksRestored } =
    recovered;
  return [
    ...(leadsWithoutText > 0
      ? [
          `The text of ${countOf(leadsWithoutText, 'lead version')} is lost. The next poll restores the text of every version that the source still lists.`,
        ]
      : []),
    ...(deliveriesWaiting > 0
      ? [
          `Without that text, leadsync cannot make ${countOf(deliveriesWaiting, 'delivery')}. Each counts as dead until the source lists its lead again.`,
        ]
      : []),
    ...(deliveriesRestored > 0
      ? [
          `${countOf(deliveriesRestored, 'delivery')} could not be read and were restored from indexes and attempts.`,
        ]
      : []),
    ...(deliveriesRepeated > 0
      ? [
          `The records of ${countOf(deliveriesRepeated, 'delivery')} are lost. leadsync makes them again under the same ids, so a receiver may get such a lead twice.`,
        ]
      : []),
    ...sinksRestored.map(
      (sink) =>
        `Only the name of sink ${printable(sink)} could be recovered. The rest comes from the configuration.`,
    ),
    'The next poll of each source reads the whole listing. Leads that were lost entirely count as new, and go to every sink.',
  ];
}

function exchanged(file: string, aside: string): string[] {
  return [
    `${printable(file)} is now the recovered ledger. Start leadsync and its workers again.`,
    `${printable(aside)} is the damaged ledger. It holds personal data that \`leadsync erase\` does not reach: remove it when you no longer need it.`,
  ];
}

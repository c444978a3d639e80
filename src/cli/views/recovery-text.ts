import type { Recovered } from '../../ledger/recovery/build.ts';
import { isSound, type Recovery } from '../../operations/recover.ts';
import { countOf, printCount } from '../../platform/text/format.ts';
import { printable } from '../../platform/text/printable.ts';
import { table } from '../shell/table.ts';

const COLUMNS = [
  { head: 'table' },
  { head: 'rows kept', align: 'right' },
  { head: 'unusable, at most', align: 'right' },
] as const;

/** What a recovery found and did, for people. Names nobody. */
export function recoveryText(recovery: Recovery): string {
  const { file, damage, recovered, aside } = recovery;
  if (isSound(recovery)) return `The ledger ${printable(file)} is sound: there is nothing to recover.\n`;
  const rows = recovered.tables.map(({ table, kept, unusable }) => [
    table,
    printCount(kept),
    printCount(unusable),
  ]);
  const lines = [
    damage
      ? printable(damage.message)
      : `SQLite finds nothing wrong with the ledger ${printable(file)}, but some of its rows are not as leadsync wrote them.`,
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
          `The text of ${countOf(leadsWithoutText, 'content')} is lost. The next poll brings back each one that is still listed.`,
        ]
      : []),
    ...(deliveriesWaiting > 0
      ? [
          `Without it ${countOf(deliveriesWaiting, 'delivery')} cannot be made, and count as dead. They go out when the source lists the lead again.`,
        ]
      : []),
    ...(deliveriesRestored > 0
      ? [
          `${countOf(deliveriesRestored, 'delivery')} could not be read and were restored from indexes and attempts.`,
        ]
      : []),
    ...(deliveriesRepeated > 0
      ? [
          `The records of ${countOf(deliveriesRepeated, 'delivery')} are lost. They are made under the same ids as before, so a receiver that got such a lead gets it twice.`,
        ]
      : []),
    ...sinksRestored.map(
      (sink) => `Only the name of sink ${printable(sink)} is left. The configuration says the rest.`,
    ),
    'Each source reads its whole listing again. Leads that were lost entirely are new then, and go to every sink.',
  ];
}

function exchanged(file: string, aside: string): string[] {
  return [
    `${printable(file)} is the recovered ledger now. Start leadsync and its workers again.`,
    `${printable(aside)} is the damaged one. It holds personal data that \`leadsync erase\` does not reach: remove it when you no longer need it.`,
  ];
}

import { SINKS } from '../support/scene/scene.ts';
import { countOf, type Repeats } from './repeats.ts';
import type { RunResult } from './run.ts';

/** Returns the report of a run: a line, a table, and the broken promises. */
export function reportOf(result: RunResult): string {
  const { account, faults, kept, repeats, destination } = result;
  const rows = [...SINKS, destination].flatMap((sink) => {
    const one = account.sinks[sink];
    if (one === undefined) return [];
    const { delivered, repeated, replayed, dead, skipped, lost, pending } = one;
    const cells = [
      sink,
      account.served,
      delivered,
      sink === 'crm' ? countOf(repeats) : sink === destination ? repeated.length : '-',
      replayed.length,
      dead.length,
      skipped.length,
      lost.length,
      pending.length,
    ];
    return [cells];
  });
  const head = ['', 'served', 'delivered', 'repeats', 'replays', 'dead', 'skipped', 'lost', 'pending'];
  return [
    `\n${outline(result)}`,
    ...[head, ...rows].map(line),
    `in CRMs: ${Object.entries(result.inCrms)
      .map(([crm, leads]) => `${crm} ${leads.toLocaleString('en')}`)
      .join(', ')}`,
    ...excuses(repeats),
    ...(faults.length === 0 ? ['as promised'] : ['NOT as promised:', ...faults.map((fault) => `  ${fault}`)]),
    ...(kept === undefined
      ? []
      : [`The ledger, the logs and a record are kept in ${kept}`, `Again: ${again(result)}`]),
    '',
  ].join('\n');
}

/** Returns a one-line summary of several runs. */
export function summaryOf(results: readonly RunResult[]): string {
  const sum = (of: (result: RunResult) => number) => results.reduce((total, one) => total + of(one), 0);
  const lost = sum(({ account }) => SINKS.reduce((all, sink) => all + account.sinks[sink].lost.length, 0));
  const broken = results.filter(({ faults }) => faults.length > 0);
  return (
    `${results.length} runs, ${Math.round(sum(({ seconds }) => seconds) / 60)} min of trouble, ${sum(({ kills }) => kills)} kills, ` +
    `${sum(({ account }) => account.served)} leads to ${SINKS.length} sinks, ${lost} lost, ` +
    `${sum(({ repeats }) => countOf(repeats))} repeats; ` +
    (broken.length === 0
      ? 'as promised'
      : `NOT as promised: seeds ${broken.map(({ seed }) => seed).join(', ')}`)
  );
}

function outline({
  seed,
  carrier,
  setting: { ledger, machines },
  seconds,
  kills,
  died,
  healedSeconds,
  peakMb,
}: RunResult): string {
  const healed =
    healedSeconds === undefined ? 'not healed to rest' : `healed to rest in ${healedSeconds.toFixed(1)} s`;
  return (
    `seed ${seed}, ${carrier}, ${ledger}${machines > 1 ? `, ${machines} machines` : ''}, ${seconds} s: leadsync was killed ${kills} times, ${died} deliveries died, ` +
    `${healed}, memory at the most ${Math.round(peakMb)} MB`
  );
}

/** Returns the number of repeats by excuse, in words. */
function excuses({ excused, unexcused }: Repeats): string[] {
  const counts = [...excused, ...(unexcused.length > 0 ? [['nothing', unexcused.length] as const] : [])];
  return counts.map(([why, count]) => `repeated because of: ${why.padEnd(40)}${count.toLocaleString('en')}`);
}

function line(cells: readonly (string | number)[]): string {
  return cells
    .map((cell, index) => (index === 0 ? String(cell).padEnd(10) : cell.toLocaleString('en').padStart(10)))
    .join('');
}

function again({ seed, carrier, setting, seconds, inCrms }: RunResult): string {
  const crms = Object.keys(inCrms).length;
  const { ledger, machines } = setting;
  const place = ledger === 'sqlite' ? '' : ` --ledger ${ledger} --machines ${machines}`;
  return `npm run test:chaos -- --seed ${seed} --carrier ${carrier} --seconds ${seconds} --crms ${crms}${place}`;
}

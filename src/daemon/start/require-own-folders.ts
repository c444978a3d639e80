import { LedgerError } from '../../ledger/contract/ledger-error.ts';
import type { KnownProcess } from '../../ledger/contract/machines.ts';
import type { Clock } from '../../platform/time/clock.ts';

/** Interval for looking at the other processes again, in ms. */
const CHECK_MS = 200;

/** What is known of the other processes. */
interface Others {
  readonly all: readonly KnownProcess[];
  isDead(holder: string): boolean;
}

/**
 * Requires that no process of another machine has one of these sinks, whose folder is only on this machine: each machine would get a part of the files. A
 * process counts once it beats again, and no longer once it is dead. @throws LedgerError `held`
 */
export async function requireOwnFolders(
  folders: readonly string[],
  others: Others,
  machine: string,
  clock: Pick<Clock, 'sleep'>,
): Promise<void> {
  const firstBeats = new Map<string, string>();
  for (;;) {
    const rivals = others.all
      .map((process) => ({ process, sink: process.folders.find((folder) => folders.includes(folder)) }))
      .filter(({ process, sink }) => sink !== undefined && process.machine !== machine)
      .filter(({ process }) => !others.isDead(process.holder));
    if (rivals.length === 0) return;
    for (const { process, sink = '' } of rivals) {
      const first = firstBeats.get(process.holder);
      if (first !== undefined && first !== process.lastBeat) throw notAlone(sink, process);
      firstBeats.set(process.holder, process.lastBeat);
    }
    await clock.sleep(CHECK_MS);
  }
}

function notAlone(sink: string, { role, machine }: KnownProcess): LedgerError {
  return new LedgerError(
    'held',
    `The sink ${sink} writes into a folder, and leadsync ${role} on ${machine} writes into its own folder for the same sink.`,
    'If both machines see the same folder, set `shared: true` at the sink on both. Otherwise remove the sink from the configuration of one of them, or let it write to a bucket with `to`.',
  );
}

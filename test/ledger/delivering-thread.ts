import { parentPort, workerData } from 'node:worker_threads';
import { HEALTHY } from '../../src/leads/sink-health.ts';
import { openLedger } from '../../src/ledger/sqlite-ledger.ts';
import { systemClock } from '../../src/platform/time/clock.ts';

// To SQLite, this thread is a process of its own: it claims and settles until it is stopped, and reports what it attempted.
const { file, sink } = workerData as { file: string; sink: string };
const ledger = openLedger({
  file,
  create: false,
  clock: systemClock,
  random: Math.random,
  judge: (_sink, _health, attempted) => ({
    health: HEALTHY,
    reviveSince: undefined,
    verdicts: attempted.map(() => ({
      state: 'delivered',
      attempts: 1,
      excused: 0,
      nextAttemptAt: undefined,
      reason: undefined,
    })),
  }),
});

let stopping = false;
parentPort?.on('message', () => {
  stopping = true;
});
const attempted: string[] = [];
while (!stopping) {
  const { refs } = await ledger.claim({ sink, window: 3, max: 5, waitMs: 0, leaseMs: 60_000 });
  for (const ref of refs) {
    const batch = (await ledger.begin(ref, 60_000))?.batch;
    if (!batch) continue;
    attempted.push(...batch.deliveries.map((delivery) => String(delivery.leadId)));
    const outcomes = batch.deliveries.map(() => ({ kind: 'delivered' as const }));
    await ledger.settle(ref, { outcomes, startedAt: new Date(), durationMs: 1 });
  }
}
await ledger.close();
parentPort?.postMessage(attempted);

import { judgeBy } from '../../src/delivery/judge.ts';
import { openLedger } from '../../src/ledger/sqlite-ledger.ts';
import { systemClock } from '../../src/platform/time/clock.ts';
import { aListedLead } from '../support/scene/a-lead.ts';

// Records, claims, begins and settles as fast as it can until it is killed. Reports the number of listed leads, and what the ledger has
// confirmed as recorded and settled, which must survive from then on.
const [, , file = '', from = '0'] = process.argv;
const ledger = openLedger({
  file,
  create: true,
  clock: systemClock,
  random: Math.random,
  judge: judgeBy(() => ({ scheduleMs: [1, 1], jitter: 0 }), Math.random),
  holder: `process-${process.pid}`,
});
await ledger.declareSinks([
  { name: 'crm', events: ['created', 'updated'], backfill: true },
  { name: 'drop', events: ['created'], backfill: true },
]);
const say = (what: object) => process.send?.(what);

async function list(): Promise<void> {
  for (let next = Number(from); ; next += 7) {
    const poll = await ledger.startPoll('main');
    const names = Array.from({ length: 30 }, (_, index) => Math.max(0, next - index));
    const leads = names.map((id) => aListedLead({ id, client_name: id % 3 === 0 ? `at ${next}` : 'Anna' }));
    const { new: fresh } = await ledger.record(poll, leads);
    await ledger.finishPoll(poll, { status: 'success', bytes: 1, httpStatus: 200, mark: undefined });
    if (fresh > 0) say({ listed: next });
  }
}

async function deliver(sink: string, max: number, beginForMs: number | undefined): Promise<void> {
  for (;;) {
    const { refs } = await ledger.claim({ sink, window: 8, max, waitMs: 0, leaseMs: 60_000, beginForMs });
    const attempts = refs.map(async (ref) => {
      const batch = (await ledger.begin(ref, 60_000))?.batch;
      const kinds = ['delivered', 'delivered', 'delivered', 'refused', 'unavailable'] as const;
      const outcomes = batch?.deliveries.map((_, index) => {
        const kind = kinds[(index + ref.lease) % kinds.length] ?? 'delivered';
        return kind === 'delivered' ? { kind } : { kind, reason: 'It says no.' };
      });
      if (!batch || !outcomes) return;
      const settled = await ledger.settle(ref, { outcomes, startedAt: new Date(), durationMs: 1 });
      const delivered = batch.deliveries.filter(
        (_, index) => settled?.verdicts[index]?.state === 'delivered',
      );
      if (delivered.length > 0) say({ delivered: delivered.map((delivery) => delivery.id) });
    });
    await Promise.all(attempts);
    await ledger.resume(sink); // these outcomes occasionally hold the sink
  }
}

await Promise.all([list(), deliver('crm', 1, 60_000), deliver('drop', 5, undefined)]);

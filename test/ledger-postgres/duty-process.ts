import { setTimeout as sleep } from 'node:timers/promises';
import { LeasedDuties } from '../../src/daemon/duties/leased-duties.ts';
import { HEALTHY } from '../../src/leads/sink-health.ts';
import type { HeldDuty } from '../../src/ledger/contract/machines.ts';
import { openPostgresLedger } from '../../src/ledger-postgres/postgres-ledger.ts';
import { systemClock } from '../../src/platform/time/clock.ts';
import { aListedLead } from '../support/scene/a-lead.ts';

// Polls a source while it holds the duty, with a new lead in each poll. Reports since when and until when it trusted each lease, in ns of the
// machine's monotonic clock, and the leads that the ledger has confirmed.
const [, , url = '', schema = '', holder = '', leaseMs = '', first = ''] = process.argv;
const ledger = await openPostgresLedger({
  url,
  schema,
  connections: 2,
  applicationName: schema,
  clock: systemClock,
  random: Math.random,
  judge: () => ({ health: HEALTHY, verdicts: [], reviveSince: undefined }),
  create: false,
  holder,
});
const say = (what: object) => process.send?.(what);
const forever = new AbortController().signal;
let lead = Number(first);

async function poll(held: HeldDuty, signal: AbortSignal): Promise<void> {
  const polling = pollOnce(held).catch(() => undefined);
  let since: bigint | undefined;
  while (!signal.aborted) {
    const before = process.hrtime.bigint();
    if (held.isTrusted()) {
      since ??= process.hrtime.bigint();
      say({ token: held.token, since: String(since), until: String(before) });
    }
    await sleep(20);
  }
  await polling;
}

async function pollOnce(held: HeldDuty): Promise<void> {
  for (;;) {
    const id = await ledger.startPoll('main', held.token);
    await ledger.record(id, [aListedLead({ id: lead })]);
    await ledger.finishPoll(id, { status: 'success', bytes: 1, httpStatus: 200, mark: undefined });
    say({ recorded: lead });
    lead += 1;
  }
}

const duties = new LeasedDuties({
  machines: ledger.machines(Number(leaseMs)),
  clock: systemClock,
  own: () => ({ machine: holder, role: 'run', sinks: [], folders: [] }),
  leaseMs: Number(leaseMs),
  onFailure: () => undefined,
});
await Promise.all([duties.run(forever), duties.whileHeld('poll:main', poll, forever)]);

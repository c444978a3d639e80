import type { Batch } from '../../src/leads/delivery.ts';
import type { Outcome } from '../../src/leads/outcome.ts';
import { HEALTHY } from '../../src/leads/sink-health.ts';
import type { Ledger } from '../../src/ledger/contract/ledger.ts';
import type { MirroredLedger } from '../../src/ledger/contract/mirrored-ledger.ts';
import { openLedger } from '../../src/ledger/sqlite-ledger.ts';
import { systemClock } from '../../src/platform/time/clock.ts';
import { aListedLead } from '../support/scene/a-lead.ts';

const CHUNK = 500;
const BATCH = 1000;
const DAY_MS = 86_400_000;
/** Leads were created over so many days before now. */
const DAYS = 730;

const SERVICES = [
  'house-cleaning',
  'gardening',
  'plumbing',
  'removals',
  'painting',
  'electrical',
  'roofing',
  'photography',
];
const EXTRAS = ['oven', 'windows', 'carpets', 'fridge', 'balcony'];

/** How batches are attempted, by the names of their sinks. */
export type Attempts = Readonly<Record<string, (batch: Batch) => Promise<readonly Outcome[]>>>;

/** Opens a ledger that takes every outcome as it comes. */
export function openForFilling(file: string): MirroredLedger {
  return openLedger({
    file,
    create: true,
    clock: systemClock,
    random: Math.random,
    holder: 'proof',
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
}

/** Lists so many leads, created over two years by clients of whom some come again, and delivers all of them to every sink. */
export async function fillLedger(ledger: Ledger, leads: number, sinks: Attempts): Promise<void> {
  await ledger.declareSinks(
    Object.keys(sinks).map((name) => ({ name, events: ['created', 'updated'], backfill: true })),
  );
  await list(ledger, leads);
  for (const [sink, attempt] of Object.entries(sinks)) await deliverAll(ledger, sink, attempt);
}

async function list(ledger: Ledger, leads: number): Promise<void> {
  const poll = await ledger.startPoll('main');
  const nowMs = Date.now();
  for (let from = 1; from <= leads; from += CHUNK) {
    const count = Math.min(CHUNK, leads - from + 1);
    await ledger.record(
      poll,
      Array.from({ length: count }, (_, at) => lead(from + at, leads, nowMs)),
    );
  }
  const mark = { url: 'http://127.0.0.1/', etag: undefined, bodyHash: undefined, bodyBytes: undefined };
  await ledger.finishPoll(poll, { status: 'success', bytes: leads * 800, httpStatus: 200, mark });
}

/** Spread by multiplication with primes: the same leads every time, and no two neighbours alike. */
function lead(id: number, leads: number, nowMs: number) {
  const service = SERVICES[(id * 7919) % SERVICES.length] ?? '';
  const client = (id * 104_729) % Math.ceil(leads * 0.9);
  const ageMs = (((id * 15_485_863) % leads) / leads) * DAYS * DAY_MS;
  return aListedLead({
    id,
    service_name: service.replaceAll('-', ' '),
    service_slug: service,
    created_at: new Date(nowMs - ageMs - 60_000).toISOString(),
    client_name: `Client ${client}`,
    client_email: client % 10 === 0 ? '' : `client${client}@example.com`,
    client_phone_number: client % 10 === 1 ? '' : `+61 4${String(client).padStart(8, '0')}`,
    service_question_answers: [
      { question: 'How many bedrooms are there?', slug: 'bedrooms', answer: String(1 + (id % 5)) },
      { question: 'When shall it be?', slug: 'when', answer: ['Soon', 'This week', 'Later'][id % 3] },
      { question: 'Which extras?', slug: 'extras', answer: EXTRAS[id % 5] },
      { question: 'Which extras?', slug: 'extras', answer: EXTRAS[(id + 1) % 5] },
    ],
  });
}

async function deliverAll(
  ledger: Ledger,
  sink: string,
  attempt: (batch: Batch) => Promise<readonly Outcome[]>,
): Promise<void> {
  for (;;) {
    const { refs } = await ledger.claim({ sink, window: 1, max: BATCH, waitMs: 0, leaseMs: 60_000 });
    const [ref] = refs;
    if (!ref) return;
    const batch = (await ledger.begin(ref, 60_000))?.batch;
    if (!batch) return;
    const outcomes = await attempt(batch);
    await ledger.settle(ref, { outcomes, startedAt: new Date(), durationMs: 5 });
  }
}

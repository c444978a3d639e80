import { join } from 'node:path';
import Database from 'better-sqlite3';
import type { ListedLead } from '../../../src/leads/listed-lead.ts';
import { tempDir } from '../../support/files/temp-dir.ts';
import { aListedLead } from '../../support/scene/a-lead.ts';
import { HeldClock } from '../../support/time/held-clock.ts';
import { aSink, delivered, ids, LedgerUnderTest, refused, unanswered } from '../ledger-under-test.ts';
import { sqliteStore } from '../sqlite-store.ts';

/** The mapping of every sink when its leads are attempted. */
const MAPPING = '{"where":"true"}';

/** The sinks that exist at the end, each with its events. */
export const SINKS = [
  aSink('crm', { mapping: MAPPING }),
  aSink('updates', { events: ['created', 'updated'], mapping: MAPPING }),
  aSink('news', { backfill: false, mapping: MAPPING }),
];

/** The erased leads. Their name occurs nowhere else. */
export const ERASED = [3, 33, 63];
export const ERASED_NAME = 'Zaphod Erased';

/** A row of a table that tests compare. */
export type Row = Readonly<Record<string, unknown>>;

/** A ledger's file with everything that a ledger can contain, and what the service lists at its end. */
export interface UsedLedger {
  readonly file: string;
  readonly clock: HeldClock;
  readonly listing: readonly ListedLead[];
}

/** Creates a ledger with leads, contents and deliveries in every state, including running ones, erased leads, and a removed sink. */
export async function aUsedLedger(leads = 120): Promise<UsedLedger> {
  const file = join(tempDir(), 'ledger.db');
  const clock = new HeldClock();
  const on = new LedgerUnderTest(sqliteStore(file), clock);
  await on.declare('crm', aSink('updates', { events: ['created', 'updated'] }), 'gone');
  const first = ids(1, leads - 20).map((id) => lead(id, ERASED.includes(id) ? ERASED_NAME : 'First'));
  await on.list(first);
  await on.attemptAll('gone', delivered, { max: 10 });
  await on.declare(...SINKS);
  for (const { name } of SINKS) while (!(await on.ledger.backfill(name)).done);
  await settleSome(on);
  const listing = [
    ...first.map((one, at) => (at % 4 === 0 ? lead(Number(one.id), `Second ${at}`) : one)),
    ...ids(leads - 19, leads).map((id) => lead(id, 'New')),
  ].filter(({ id }) => id % 17n !== 0n);
  await on.list([...listing, { ...lead(7, 'Aside'), kind: 'rejected', reason: 'It is wrong.', path: 'id' }]);
  await on.attemptAll('updates', delivered, { window: 30, max: 3 });
  await on.ledger.erase(
    { leads: ERASED.map((id) => ({ source: 'main', leadId: BigInt(id) })), rejected: [] },
    ['crm'],
  );
  await on.ledger.finishErasing(ERASED.map((id) => ({ source: 'main', leadId: BigInt(id) })));
  await on.ledger.replay('updates', { lead: 12n });
  await on.ledger.computeClientKeys('secret');
  await on.claim('crm', { window: 6, max: 3 });
  await on.take('updates', { window: 4, max: 4 });
  await on.ledger.close();
  withLedger(file, (db) => db.pragma('wal_checkpoint(TRUNCATE)'));
  return { file, clock, listing: listing.filter(({ id }) => !ERASED.includes(Number(id))) };
}

/** Leaves some leads with an unknown outcome, some refused, and some pending. */
async function settleSome(on: LedgerUnderTest): Promise<void> {
  const { refs } = await on.claim('crm', { window: 60, max: 5 });
  for (const [at, ref] of refs.entries()) {
    const { batch } = await on.begin(ref);
    const outcomes = batch.deliveries.map((_, place) => (at % 4 === 1 && place === 2 ? refused : delivered));
    await on.settle(ref, ...(at % 5 === 2 ? outcomes.map(() => unanswered) : outcomes));
  }
  await on.attemptAll('updates', delivered, { window: 70, max: 7 });
}

/** Builds a lead; every third is longer than a page. */
function lead(id: number, client_name: string): ListedLead {
  const notes = `${client_name} `.repeat(id % 3 === 0 ? 700 : 10);
  return aListedLead({
    id,
    client_name,
    client_email: `${client_name.replaceAll(' ', '.')}.${id}@example.com`,
    notes,
  });
}

/** Opens a connection to a file, calls `use` and closes it. */
export function withLedger<T>(file: string, use: (db: Database.Database) => T): T {
  const db = new Database(file);
  try {
    return use(db);
  } finally {
    db.close();
  }
}

/** Reads the rows of a query. */
export function rowsOf(file: string, sql: string): Row[] {
  return withLedger(file, (db) => db.prepare<[], Row>(sql).all());
}

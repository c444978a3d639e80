import { describe, expect, it } from 'vitest';
import { relations } from '../../src/catalog/catalog.ts';
import type { Relation } from '../../src/catalog/relation.ts';
import { openTables } from '../../src/exports/files/open-tables.ts';
import type { LedgerTables } from '../../src/ledger/contract/ledger-tables.ts';
import {
  aSink,
  changedLead,
  delivered,
  HOUR,
  LedgerUnderTest,
  MINUTE,
  unavailable,
} from '../ledger/ledger-under-test.ts';
import { SqliteFile } from '../ledger/sqlite-store.ts';
import { PostgresStore } from '../ledger-postgres/postgres-store.ts';
import { aListedLead } from '../support/scene/a-lead.ts';

type Happening = (on: LedgerUnderTest) => Promise<unknown>;

const nothing: Happening = async () => undefined;
const wrong = (id: number) =>
  ({
    ...aListedLead({ id, client_name: 'Wrong' }),
    kind: 'rejected',
    reason: 'It is wrong.',
    path: 'x',
  }) as const;

async function erase(on: LedgerUnderTest, email = 'anna.mueller@example.com') {
  return on.ledger.erase(await on.ledger.findPerson({ kind: 'email', contact: email }), []);
}

/** Settles an attempt that began before the time of the increment. */
async function settleLate(on: LedgerUnderTest) {
  const { ref } = await on.take('crm');
  await on.ledger.settle(ref, { outcomes: [delivered], startedAt: on.clock.in(-MINUTE), durationMs: MINUTE });
}

/** Attempts the due deliveries of the sink `times` times, without success. */
async function probe(on: LedgerUnderTest, times: number) {
  for (let time = 0; time < times; time += 1) {
    on.clock.jump(HOUR);
    for (const ref of (await on.claim('crm')).refs)
      if (await on.ledger.begin(ref, MINUTE)) await on.settle(ref, unavailable);
  }
}

/** What happened before, what happens then, and the rows of each table that an increment must have for it, at the least. */
const CASES: readonly (readonly [string, Happening, Happening, Readonly<Record<string, number>>])[] = [
  [
    'a lead that changed',
    (on) => on.list([1, 2]).then(() => on.attemptAll('crm')),
    (on) => on.list([changedLead(1, 'B'), 2]),
    {
      leads: 1,
      lead_answers: 2,
      lead_versions: 2,
      v_leads: 1,
      v_leads_no_pii: 1,
      v_speed_to_lead: 1,
      v_speed_to_lead_all: 1,
    },
  ],
  [
    'a lead that went missing',
    (on) => on.list([1, 2]),
    (on) => on.list([2]),
    { leads: 1, lead_answers: 2, v_gone_leads: 1 },
  ],
  [
    'a lead that came back',
    (on) => on.list([1, 2]).then(() => on.list([2])),
    (on) => on.list([1, 2]),
    { leads: 1, lead_answers: 2 },
  ],
  ['an element that became valid', (on) => on.list([wrong(1)]), (on) => on.list([1]), { rejected_leads: 1 }],
  [
    'an element that is rejected again',
    (on) => on.list([wrong(1)]).then(() => on.list([1])),
    (on) => on.list([wrong(1)]),
    { rejected_leads: 1 },
  ],
  ['a poll that has ended', (on) => on.ledger.startPoll('main'), (on) => on.list([1]), { polls: 2 }],
  ['a running poll', (on) => on.ledger.startPoll('main'), nothing, { polls: 1 }],
  [
    'a pending delivery',
    (on) => on.list([1]),
    nothing,
    { deliveries: 1, v_speed_to_lead_all: 1, v_undelivered: 1 },
  ],
  [
    'a delivery that arrived',
    (on) => on.list([1]),
    (on) => on.attemptAll('crm'),
    { deliveries: 1, attempts: 1, v_speed_to_lead: 1, v_speed_to_lead_all: 1, v_lead_timeline: 1 },
  ],
  [
    'an attempt that failed as the one before did',
    (on) => on.list([1, 2, 3, 4]).then(() => probe(on, 5)),
    (on) => probe(on, 1),
    { attempts: 1 },
  ],
  [
    'an attempt that began before',
    (on) => on.list([1]),
    settleLate,
    { attempts: 1, deliveries: 1, v_lead_timeline: 1 },
  ],
  [
    'a lead that was erased',
    (on) => on.list([1]).then(() => on.attemptAll('crm', unavailable)),
    (on) => erase(on),
    { lead_versions: 1, attempts: 1, deliveries: 1, v_erased_leads: 1, v_lead_timeline: 2 },
  ],
  [
    'an element whose person was erased',
    (on) => on.list([wrong(1)]).then(() => on.list([1])),
    (on) => erase(on),
    { rejected_leads: 1 },
  ],
  [
    'a client who got a key',
    (on) => on.list([1]),
    async (on) => {
      while (!(await on.ledger.computeClientKeys('a secret of some length')));
    },
    { v_leads_no_pii: 1, v_clients: 1 },
  ],
  [
    'a lead that arrived before the end of the first poll, which shows that it was not a backfill',
    async (on) => {
      await on.ledger.record(await on.ledger.startPoll('main'), [aListedLead({ id: 1 })]);
      await on.attemptAll('crm');
    },
    (on) => on.ledger.finishPoll(1, { status: 'success', bytes: 1, httpStatus: 200, mark: undefined }),
    { v_speed_to_lead: 1, v_speed_to_lead_all: 1 },
  ],
  [
    'what was recorded after the clock was set back',
    (on) => on.ledger.checkpointLog(), // the ledger has seen the clock before it is set back
    async (on) => {
      on.clock.setBack(5 * HOUR);
      await on.ledger.clockWentBack(5 * HOUR);
      await on.list([1]);
      await on.attemptAll('crm');
    },
    { leads: 1, lead_answers: 2, lead_versions: 1, polls: 1, deliveries: 1, attempts: 1, v_speed_to_lead: 1 },
  ],
];

/** The ledgers, each with a function that opens its tables. */
const ENGINES = [
  [
    'SQLite',
    () => {
      const disk = new SqliteFile();
      return { open: disk.open, tables: () => openTables({ kind: 'file', file: disk.file }) };
    },
  ],
  [
    'PostgreSQL',
    () => {
      const store = new PostgresStore();
      const { url } = store.place();
      return { open: store.open, tables: () => openTables({ kind: 'server', url, schema: store.schema }) };
    },
  ],
] as const;

describe.each(ENGINES)('an increment from %s', (_engine, store) => {
  it.each(CASES)('has %s', async (_, before, then, expected) => {
    const { open, tables } = store();
    const on = await LedgerUnderTest.with(open, aSink('crm'));
    await before(on);
    on.clock.jump(10); // so that only what happens from here on belongs to the increment
    const since = on.clock.now();
    await then(on);
    const carried = await rowsSince(await tables(), Object.keys(expected), since);
    for (const [name, rows] of Object.entries(expected))
      expect(carried.get(name), name).toBeGreaterThanOrEqual(rows);
  });

  it('leaves out rows that have not changed since they were settled', async () => {
    const { open, tables } = store();
    const on = await LedgerUnderTest.with(open, aSink('crm'));
    await on.list([1]);
    await on.attemptAll('crm');
    on.clock.jump(HOUR + MINUTE);
    const carried = await rowsSince(
      await tables(),
      [
        'leads',
        'lead_answers',
        'lead_versions',
        'polls',
        'deliveries',
        'attempts',
        'v_leads',
        'v_leads_no_pii',
        'v_speed_to_lead',
        'v_speed_to_lead_all',
        'v_lead_timeline',
      ],
      on.clock.now(),
    );
    expect([...carried.values()].filter((rows) => rows > 0)).toEqual([]);
  });
});

/** How many rows of each table came or changed since then. */
async function rowsSince(
  extract: LedgerTables,
  tables: readonly string[],
  since: Date,
): Promise<Map<string, number>> {
  try {
    const from = await extract.reachedBack(since);
    const rows = new Map<string, number>();
    for (const name of tables) {
      const relation = relations.find((one) => one.name === name) as Relation;
      rows.set(name, (await Array.fromAsync(extract.parts(relation, from))).flat().length);
    }
    return rows;
  } finally {
    await extract.close();
  }
}

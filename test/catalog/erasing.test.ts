import { expect, it } from 'vitest';
import type { Subject } from '../../src/leads/person.ts';
import { ids, refused } from '../ledger/ledger-under-test.ts';
import { aListedLead } from '../support/scene/a-lead.ts';
import { TwoStores } from './two-stores.ts';

const NEVER = new AbortController().signal;
const ADA = aListedLead({ id: 1, client_name: 'Ada Secret' });

/** Every row of every table, as text. */
async function everything(stores: TwoStores): Promise<string> {
  const tables = [
    'leads',
    'lead_answers',
    'lead_versions',
    'rejected_leads',
    'attempts',
    'deliveries',
    '_client_keys',
  ];
  const rows = await Promise.all(
    tables.map((table) => stores.postgres.query(`SELECT t::text AS row FROM ${table} t`)),
  );
  return JSON.stringify(rows);
}

async function withAda(): Promise<TwoStores> {
  const stores = await TwoStores.open();
  await stores.list([ADA, 2]);
  await stores.on.list([
    { ...aListedLead({ id: 1, client_name: 'Ada Aside' }), kind: 'rejected', reason: 'no', path: '' },
    2,
  ]);
  await stores.attempt(1, refused);
  await stores.computeClientKeys('secret');
  await stores.bring();
  expect(await everything(stores)).toMatch(/Ada Secret.*Ada Aside/);
  return stores;
}

it('removes one person from every table of PostgreSQL, and no other person', async () => {
  const stores = await withAda();
  const person = await stores.on.ledger.findPerson({ kind: 'lead', lead: 1n });
  await stores.on.ledger.erase(person, []);
  expect(await stores.sink.erase?.(person, NEVER)).toBeGreaterThan(3);
  expect(await everything(stores)).not.toMatch(/Ada/);
  expect(await stores.sink.erase?.(person, NEVER)).toBe(0);
  const leads = 'SELECT source, id FROM leads ORDER BY id';
  expect(await stores.inPostgres(leads)).toEqual([{ source: 'main', id: '2' }]);
  expect(await stores.inPostgres(leads)).toEqual(stores.inLedger(leads));
  const versions = 'SELECT lead_id, version, raw FROM lead_versions WHERE lead_id = 1 ORDER BY version';
  expect(await stores.inPostgres(versions)).toEqual(stores.inLedger(versions));
});

it('the mirror removes rows that it read before the erasure and wrote after it', async () => {
  const stores = await withAda();
  const { mirror } = stores;
  const person = await stores.on.ledger.findPerson({ kind: 'lead', lead: 1n });
  await stores.on.list([aListedLead({ id: 1, client_name: 'Ada Late' }), 2]);
  const written: string[] = [];
  const write = mirror.write.bind(mirror);
  mirror.write = async (ledger, table, rows, signal) => {
    written.push(table);
    if (table === 'lead_contents') {
      await stores.on.ledger.erase(person, []);
      await stores.sink.erase?.(person, NEVER);
    }
    return write(ledger, table, rows, signal);
  };
  await stores.bring();
  expect(written).toContain('lead_contents');
  expect(await everything(stores)).not.toMatch(/Ada/);
});

it('a second erasure makes the mirror remove what arrived after the first', async () => {
  const stores = await withAda();
  const person = await stores.on.ledger.findPerson({ kind: 'lead', lead: 1n });
  await stores.on.ledger.erase(person, []);
  await stores.bring();
  await stores.postgres.query(
    `INSERT INTO _contents SELECT source, lead_id, hash, false, '{"client_name":"Ada Late"}' FROM _versions WHERE lead_id = 1`,
  );
  await stores.bring();
  expect(await everything(stores)).toContain('Ada Late');
  await stores.on.ledger.erase(person, []);
  await stores.bring();
  expect(await everything(stores)).not.toMatch(/Ada/);
});

it('finds a person in PostgreSQL by every content and every rejected element, in tables of any size', async () => {
  const stores = await TwoStores.open();
  const ada = { client_email: ' Ada@Example.com', client_phone_number: '0044 20 7946-0018' };
  const large = ids(10, 14).map((id) => aListedLead({ id, note: 'x'.repeat(1_500_000) }));
  await stores.list([
    ...ids(100, 1_400),
    ...large,
    aListedLead({ id: 2n ** 63n - 1n, ...ada, note: '\\u0000' }),
    1_401,
  ]);
  await stores.list([aListedLead({ id: 3, ...ada })]);
  await stores.list([aListedLead({ id: 3, client_email: 'new@example.com', client_phone_number: '' })]);
  const wrong = { kind: 'rejected', reason: 'no', path: '' } as const;
  await stores.on.list([{ ...aListedLead({ id: 5, client_email: 'ada@example.com' }), ...wrong }]);
  await stores.bring();
  const found = async (subject: Subject) =>
    [...new Set((await stores.sink.findPerson?.(subject, NEVER))?.leads.map(({ leadId }) => leadId))].sort();
  expect(await found({ kind: 'email', contact: 'ADA@example.com' })).toEqual([2n ** 63n - 1n, 3n, 5n].sort());
  expect(await found({ kind: 'phone', contact: '+442079460018' })).toEqual([2n ** 63n - 1n, 3n].sort());
  expect(await found({ kind: 'email', contact: 'nobody@example.com' })).toEqual([]);
});

it('finds and empties an element without a lead id that a lost ledger had rejected', async () => {
  const stores = await TwoStores.open();
  const wrong = { kind: 'rejected', id: undefined, reason: 'no id', path: 'id' } as const;
  await stores.on.list([{ ...aListedLead({ id: 5, client_email: 'ada@example.com' }), ...wrong }]);
  await stores.on.list([{ ...aListedLead({ id: 6, client_email: 'bob@example.com' }), ...wrong }]);
  await stores.bring();
  await stores.postgres.query("UPDATE rejected_leads SET _leadsync_ledger = _leadsync_ledger || '-lost'");
  const person = await stores.sink.findPerson?.({ kind: 'email', contact: 'ada@example.com' }, NEVER);
  expect(person).toEqual({ leads: [], rejected: [{ source: 'main', hash: expect.any(String) }] });
  expect(person && (await stores.sink.erase?.(person, NEVER))).toBe(1);
  expect(await everything(stores)).not.toContain('ada@example.com');
  expect(await everything(stores)).toContain('bob@example.com');
});

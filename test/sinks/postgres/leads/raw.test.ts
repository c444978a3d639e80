import fc from 'fast-check';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import type { Subject } from '../../../../src/leads/person.ts';
import { aBatch, aDelivery } from '../../../support/scene/a-delivery.ts';
import { aLead } from '../../../support/scene/a-lead.ts';
import { uniqueName } from '../../../support/servers/services.ts';
import { type Database, openPostgres, startDatabase } from '../database.ts';

const NEVER = new AbortController().signal;
let database: Database;

beforeEach(() => {
  database = startDatabase();
  onTestFinished(() => database.close());
});

async function deliver(raws: readonly string[], raw?: boolean) {
  const { url, schema } = database;
  const sink = openPostgres({ url, schema, ...(raw === undefined ? {} : { raw }) });
  onTestFinished(() => sink.close());
  const deliveries = raws.map((text, at) => aDelivery({ raw: text, leadId: BigInt(at + 1), hash: `h${at}` }));
  const outcomes = await sink.deliver(aBatch(deliveries), NEVER);
  expect(outcomes.every(({ kind }) => kind === 'delivered')).toBe(true);
  return sink;
}

const stored = () => database.query('SELECT id::int, _leadsync_raw::text AS raw FROM leads ORDER BY id');
const built = () => database.query('SELECT id::int, _lead_json(l)::text AS json FROM leads l ORDER BY id');

test('the JSON of a lead that the columns hold is not stored a second time, unless `raw` asks for it', async () => {
  const raw = aLead({ id: 1 });
  await deliver([raw]);
  expect(await stored()).toEqual([{ id: 1, raw: null }]);
  await deliver([raw], true);
  expect(await stored()).toEqual([{ id: 1, raw }]);
});

test.each([
  ['an unknown field', aLead({ id: 1, budget: 7 })],
  [
    'an unknown field of an answer',
    aLead({ id: 1, service_question_answers: [{ question: 'a', slug: 'b', answer: 'c', unit: 'm' }] }),
  ],
  [
    'an unknown field of the address',
    aLead({ id: 1, client_address: { friendly_address: 'here', postcode: '3011' } }),
  ],
  ['a time with an offset', aLead({ id: 1, created_at: '2026-11-20T10:59:30.000+01:00' })],
  ['a time without milliseconds', aLead({ id: 1, created_at: '2026-11-20T09:59:30Z' })],
  ['a time with microseconds', aLead({ id: 1, created_at: '2026-11-20T09:59:30.000001Z' })],
  ['a 60th second', aLead({ id: 1, created_at: '2026-11-20T09:59:60.000Z' })],
  ['the year 0', aLead({ id: 1, created_at: '0000-11-20T09:59:30.000Z' })],
])('the JSON of a lead with %s is stored', async (_, raw) => {
  await deliver([raw]);
  expect(await stored()).toEqual([{ id: 1, raw }]);
});

test('a lead with a character that PostgreSQL cannot store keeps its JSON', async () => {
  await deliver([aLead({ id: 1, client_name: 'a\0b' })]);
  expect((await stored())[0]?.['raw']).toContain('a\\ufffdb');
});

test('the JSON that is built from the columns has everything that the lead has', async () => {
  const text = fc.string({ unit: 'binary', maxLength: 20 }).filter((one) => !/[\0\ud800-\udfff]/.test(one));
  const time = fc.date({ min: new Date('0001-01-01'), max: new Date('9999-12-31'), noInvalidDate: true });
  const lead = fc.record({
    service_name: text,
    service_slug: text,
    created_at: time.map((date) => date.toISOString()),
    client_name: text,
    client_email: text,
    client_phone_number: text,
    client_address: fc.option(fc.record({ friendly_address: text })),
    service_question_answers: fc.array(fc.record({ question: text, slug: text, answer: text }), {
      maxLength: 4,
    }),
    all_details_one_liner: text,
  });
  const raws = fc.sample(lead, 500).map((fields, at) => aLead({ id: at + 1, ...fields }));
  await deliver(raws);
  expect((await stored()).filter(({ raw }) => raw !== null)).toEqual([]);
  const rows = await built();
  expect(rows.map(({ json }) => JSON.parse(String(json)))).toEqual(raws.map((raw) => JSON.parse(raw)));
});

test.each<Subject>([
  { kind: 'email', contact: 'anna@example.com' },
  { kind: 'phone', contact: '0049 151 23456789' },
])('a person is found by $kind although the JSON is not stored', async (subject) => {
  const sink = await deliver([
    aLead({ id: 1, client_email: 'Anna@Example.com' }),
    aLead({ id: 2, client_email: 'x@example.com', client_phone_number: '1' }),
  ]);
  const found = await sink.findPerson?.(subject, NEVER);
  expect(found?.leads).toEqual([{ source: 'main', leadId: 1n }]);
});

test('a person is found in a schema that the upgrade has not reached yet', async () => {
  const sink = await deliver([aLead({ id: 1, client_email: 'ada@example.com' })], true);
  await database.query('DROP FUNCTION _lead_json(leads) CASCADE');
  const found = await sink.findPerson?.({ kind: 'email', contact: 'ada@example.com' }, NEVER);
  expect(found?.leads).toEqual([{ source: 'main', leadId: 1n }]);
});

test('a reader of lead_versions needs no right to execute a function', async () => {
  const role = uniqueName('reader');
  await database.query('ALTER DEFAULT PRIVILEGES REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC');
  onTestFinished(async () => {
    await database.query('ALTER DEFAULT PRIVILEGES GRANT EXECUTE ON FUNCTIONS TO PUBLIC');
    await database.query(`DROP OWNED BY ${role}; DROP ROLE ${role}`);
  });
  await deliver([aLead({ id: 1 })]);
  const { schema, query } = database;
  await query(
    `CREATE ROLE ${role}; GRANT USAGE ON SCHEMA ${schema} TO ${role}; GRANT SELECT ON lead_versions TO ${role}`,
  );
  await query(`INSERT INTO _versions (no, lead_id, valid_from, poll_id, ledger_no, version, is_current, source, hash)
    VALUES (1, 1, now(), 1, 1, 1, true, 'main', 'h0')`);
  await query(`BEGIN; SET LOCAL ROLE ${role}; SELECT raw FROM lead_versions; COMMIT`);
});

import pg from 'pg';
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest';
import { upsert } from '../../../../src/sinks/postgres/leads/upsert.ts';
import type { Sink } from '../../../../src/sinks/sink.ts';
import { rowOf } from '../../../../src/sinks/table/lead-row.ts';
import { aBatch, aDelivery } from '../../../support/scene/a-delivery.ts';
import { aLead } from '../../../support/scene/a-lead.ts';
import { until } from '../../../support/time/until.ts';
import { type Database, openPostgres, startDatabase } from '../database.ts';

const NEVER = new AbortController().signal;
const ANSWERS = 'SELECT lead_id, slug FROM lead_answers ORDER BY lead_id, position';

let database: Database;
let sink: Sink;

beforeEach(() => {
  database = startDatabase();
  sink = openPostgres({ url: database.url, schema: database.schema });
});

afterEach(async () => {
  await sink.close();
  await database.close();
});

test('an erasure removes the rows that a running delivery was writing and overwriting', async () => {
  await sink.deliver(aBatch([aDelivery(), aDelivery({ leadId: 43n, raw: aLead({ id: 43 }) })]), NEVER);
  // From its first ledger on, PostgreSQL keeps what is overwritten.
  await sink.mirror?.lastNumber('a-ledger', 'polls', NEVER);
  const writer = new pg.Client({ connectionString: database.url });
  await writer.connect();
  onTestFinished(() => writer.end());
  await writer.query('BEGIN');
  const raw = aLead({ id: 42, client_name: 'Changed' });
  const row = { ...rowOf(aDelivery({ version: 2, raw, changedAt: new Date() })), fields: new Map() };
  await upsert(writer, database.schema, [row], new Map());
  const erased = sink.erase?.({ leads: [{ source: 'main', leadId: 42n }], rejected: [] }, NEVER);
  await until('the erasure waits for the writer', async () => {
    const [{ waiting } = {}] = await database.query(
      `SELECT count(*)::int AS waiting FROM pg_stat_activity
      WHERE wait_event_type = 'Lock' AND ${await pidOf(writer)} = ANY (pg_blocking_pids(pid))`,
    );
    return waiting === 1;
  });
  await writer.query('COMMIT');
  expect(await erased).toBe(2);
  expect(await database.query('SELECT lead_id FROM _contents')).toEqual([]);
  expect(await database.query('SELECT id FROM leads')).toEqual([{ id: '43' }]);
  expect(new Set((await database.query(ANSWERS)).map((row) => row['lead_id']))).toEqual(new Set(['43']));
});

test('a delivery writes a lead that a user deleted, with its present answers', async () => {
  await sink.deliver(aBatch([aDelivery()]), NEVER);
  await database.query('DELETE FROM leads');
  const raw = aLead({ service_question_answers: [{ question: 'When?', slug: 'when', answer: 'soon' }] });
  expect(await sink.deliver(aBatch([aDelivery({ raw })]), NEVER)).toEqual([{ kind: 'delivered' }]);
  expect(await database.query(ANSWERS)).toEqual([{ lead_id: '42', slug: 'when' }]);
});

async function pidOf(client: pg.Client): Promise<number> {
  return (await client.query('SELECT pg_backend_pid() AS pid')).rows[0].pid;
}

import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Sink } from '../../../src/sinks/sink.ts';
import { testBatch } from '../../../src/sinks/test-batch.ts';
import { aBatch } from '../../support/scene/a-delivery.ts';
import { type Database, openPostgres, startDatabase } from './database.ts';

const NEVER = new AbortController().signal;
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

const sendTest = () => sink.test(testBatch('warehouse', new Date()), NEVER);
const hasSchema = async () => {
  const [row] = await database.query('SELECT to_regnamespace($1) AS found', [database.schema]);
  return row?.['found'] !== null;
};

describe('a test event', () => {
  test('makes no schema where none was, and says that it was rolled back', async () => {
    expect(await sendTest()).toEqual({
      arrived: true,
      what: expect.stringContaining('rolled the transaction back'),
    });
    expect(await hasSchema()).toBe(false);
  });

  test('leaves the rows that are there as they are', async () => {
    await sink.deliver(aBatch(2), NEVER);
    const before = await database.query('SELECT * FROM leads');
    expect((await sendTest()).arrived).toBe(true);
    expect(await database.query('SELECT * FROM leads')).toEqual(before);
  });

  test('finds a constraint that is only checked at the end of a delivery', async () => {
    await sink.deliver(aBatch(1), NEVER);
    await database.query('CREATE TABLE services (slug text PRIMARY KEY)');
    await database.query("INSERT INTO services VALUES ('house-cleaning')");
    await database.query(
      'ALTER TABLE leads ADD CONSTRAINT known_service FOREIGN KEY (service_slug) REFERENCES services DEFERRABLE INITIALLY DEFERRED',
    );
    expect(await sendTest()).toEqual({ arrived: false, what: expect.stringContaining('known_service') });
    expect(await database.query('SELECT id FROM leads')).toEqual([{ id: '1' }]);
  });

  test('does not keep the next delivery from making the tables', async () => {
    await sendTest();
    expect(await sink.deliver(aBatch(1), NEVER)).toEqual([{ kind: 'delivered' }]);
  });
});

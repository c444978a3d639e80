import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Delivery } from '../../../../src/leads/delivery.ts';
import type { Refused } from '../../../../src/leads/outcome.ts';
import type { Sink } from '../../../../src/sinks/sink.ts';
import { SinkUnavailable } from '../../../../src/sinks/sink-unavailable.ts';
import { aBatch, aDelivery } from '../../../support/scene/a-delivery.ts';
import { aLead } from '../../../support/scene/a-lead.ts';
import { type Database, openPostgres, startDatabase } from '../database.ts';

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

const deliver = (...deliveries: Delivery[]) => sink.deliver(aBatch(deliveries), new AbortController().signal);
const kinds = (outcomes: readonly { kind: string }[]) => outcomes.map(({ kind }) => kind);
const leadIds = async () => (await database.query('SELECT id FROM leads ORDER BY id')).map(({ id }) => id);

describe('a lead that the database discards', () => {
  test('by a trigger before INSERT is refused alone', async () => {
    await deliver(aDelivery({ leadId: 1000n }));
    await swallow('INSERT', 'NEW.id = 13');
    const deliveries = Array.from({ length: 20 }, (_, id) => aDelivery({ leadId: BigInt(id) }));
    const outcomes = await deliver(...deliveries);
    expect(outcomes.findIndex(({ kind }) => kind === 'refused')).toBe(13);
    expect(outcomes.filter(({ kind }) => kind === 'delivered')).toHaveLength(19);
    expect(await leadIds()).toHaveLength(20);
    expect(await leadIds()).not.toContain('13');
    const { reason } = outcomes[13] as Refused;
    expect(reason).toContain(`did not write the lead to "${database.schema}".leads`);
    expect(reason).toContain('trigger');
  });

  test('is refused if the database discards only its change, and keeps its content and answers', async () => {
    await deliver(aDelivery());
    await swallow('UPDATE', 'true');
    const raw = aLead({ client_name: 'Changed', service_question_answers: [] });
    expect(kinds(await deliver(aDelivery({ version: 2, raw })))).toEqual(['refused']);
    expect(await database.query('SELECT client_name FROM leads')).toEqual([{ client_name: 'Anna Müller' }]);
    expect(await database.query('SELECT * FROM lead_answers')).toHaveLength(2);
  });

  test('is refused if a trigger gives it another key', async () => {
    await deliver(aDelivery({ leadId: 1n }));
    await database.query(
      `CREATE FUNCTION shift() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.id := NEW.id + 1000; RETURN NEW; END'`,
    );
    await database.query('CREATE TRIGGER shift BEFORE INSERT ON leads FOR EACH ROW EXECUTE FUNCTION shift()');
    expect(kinds(await deliver(aDelivery({ leadId: 2n })))).toEqual(['refused']);
    expect(await leadIds()).toEqual(['1']);
  });

  test('is delivered if the table has newer content, even beside one that is refused', async () => {
    const newer = { version: 2, changedAt: new Date('2026-11-22T00:00:00Z') };
    await deliver(aDelivery({ leadId: 1n, ...newer }));
    await swallow('INSERT', 'true');
    const outcomes = await deliver(
      aDelivery({ leadId: 1n }),
      aDelivery({ leadId: 2n }),
      aDelivery({ leadId: 1n, source: 'another' }),
    );
    expect(kinds(outcomes)).toEqual(['delivered', 'refused', 'refused']);
    expect(await database.query('SELECT id, _leadsync_version FROM leads')).toEqual([
      { id: '1', _leadsync_version: 2 },
    ]);
  });

  test('is delivered if the table already has the same content, and only a repeated write is discarded', async () => {
    await deliver(aDelivery());
    await swallow('UPDATE', 'true');
    expect(kinds(await deliver(aDelivery()))).toEqual(['delivered']);
    expect(await database.query('SELECT * FROM lead_answers')).toHaveLength(2);
  });

  test('waits if there is a rule on the table, because it affects every lead', async () => {
    await deliver(aDelivery({ leadId: 1n }));
    await database.query('CREATE RULE swallow AS ON INSERT TO leads DO INSTEAD NOTHING');
    const error = await deliver(aDelivery({ leadId: 2n })).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(SinkUnavailable);
    expect((error as SinkUnavailable).message).toContain('0A000');
    expect((error as SinkUnavailable).hint).toContain('rule');
  });

  test('is stored once the trigger is gone', async () => {
    await deliver(aDelivery({ leadId: 1n }));
    await swallow('INSERT', 'true');
    expect(kinds(await deliver(aDelivery({ leadId: 2n })))).toEqual(['refused']);
    await database.query('DROP TRIGGER swallow ON leads');
    expect(kinds(await deliver(aDelivery({ leadId: 2n })))).toEqual(['delivered']);
    expect(await leadIds()).toEqual(['1', '2']);
  });

  /** Creates a trigger that discards rows that meet the condition, without an error. */
  async function swallow(event: string, condition: string): Promise<void> {
    await database.query(`CREATE FUNCTION swallow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      IF ${condition} THEN RETURN NULL; END IF; RETURN NEW; END $$`);
    await database.query(
      `CREATE TRIGGER swallow BEFORE ${event} ON leads FOR EACH ROW EXECUTE FUNCTION swallow()`,
    );
  }
});

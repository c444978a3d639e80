import { afterEach, beforeEach } from 'vitest';
import type { Delivery } from '../../../src/leads/delivery.ts';
import type { Sink } from '../../../src/sinks/sink.ts';
import { aBatch, aDelivery } from '../../support/scene/a-delivery.ts';
import { aLead } from '../../support/scene/a-lead.ts';
import { type Database, openMysql, startDatabase } from './database.ts';

export const NEVER = new AbortController().signal;

/** The database of the test that runs. A file that imports this module gets an empty one for each of its tests. */
export let database: Database;
const sinks: Sink[] = [];

beforeEach(async () => {
  database = await startDatabase();
});

afterEach(async () => {
  await Promise.all(sinks.splice(0).map((sink) => sink.close()));
  await database.close();
});

/** Opens a sink over the database, which is closed with the test. */
export function open(
  options: Partial<Parameters<typeof openMysql>[0]> = {},
  parts?: Parameters<typeof openMysql>[1],
): Sink {
  const sink = openMysql({ url: database.url, ...options }, parts);
  sinks.push(sink);
  return sink;
}

export const deliver = (sink: Sink, ...deliveries: Delivery[]) => sink.deliver(aBatch(deliveries), NEVER);
export const kinds = (outcomes: readonly { kind: string }[]) => outcomes.map(({ kind }) => kind);
export const leadIds = async () =>
  (await database.query('SELECT id FROM leads ORDER BY id')).map(({ id }) => id);
export const lead = (id: number, fields: Record<string, unknown> = {}, more: Partial<Delivery> = {}) =>
  aDelivery({ leadId: BigInt(id), raw: aLead({ id, ...fields }), ...more });

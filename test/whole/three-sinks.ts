import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import pg from 'pg';
import { onTestFinished } from 'vitest';
import { type Stub, type StubOptions, startStub } from '../stub/stub.ts';
import { type ConfiguredFolder, writeConfig } from '../support/leadsync.ts';
import { requireDatabaseUrl, requireRedisUrl, uniqueName } from '../support/services.ts';
import { tempDir } from '../support/temp-dir.ts';
import { startWebhookReceiver, type WebhookReceiver } from '../support/webhook-receiver.ts';

export type CarrierName = 'in-process' | 'bullmq';
export const carriers: readonly CarrierName[] = ['in-process', 'bullmq'];

/** A service, leadsync's configuration for it, and one sink of each type; all that is needed to compare both ends. */
export interface ThreeSinks extends ConfiguredFolder {
  readonly stub: Stub;
  readonly receiver: WebhookReceiver;
  /** Lead ids by sink, in order of arrival, repeats included. */
  arrivals(): Promise<Record<'webhook' | 'csv' | 'postgres', string[]>>;
  /** Whether every lead that is shown was served and is at every sink. */
  complete(): Promise<boolean>;
  /** What was served, in order. */
  served(): string[];
  /** The `webhook-id` of each lead's requests. */
  webhookIds(): Map<string, Set<string>>;
}

/** Sets the scene in a temporary folder; everything is removed when the test is over. */
export async function threeSinks(
  carrier: CarrierName,
  options: { stub?: StubOptions; config?: Record<string, unknown> } = {},
): Promise<ThreeSinks> {
  const stub = await startStub(options.stub);
  const receiver = await startWebhookReceiver();
  const folder = tempDir();
  const schema = uniqueName('whole');
  const drop = join(folder, 'drop');
  const configured = await writeConfig(folder, {
    sources: {
      main: {
        base_url: stub.url,
        client_id: stub.clientId,
        client_secret: stub.clientSecret,
        poll: { every: '1s' },
      },
    },
    sinks: {
      crm: { type: 'webhook', url: receiver.url, secret: `whsec_${Buffer.alloc(24, 7).toString('base64')}` },
      drop: { type: 'csv', directory: drop, batch: { max: 100, wait: '500ms' } },
      warehouse: { type: 'postgres', url: requireDatabaseUrl(), schema },
    },
    ...(carrier === 'bullmq' ? { queue: { redis_url: requireRedisUrl(), prefix: uniqueName('whole') } } : {}),
    ...options.config,
  });
  onTestFinished(async () => {
    await stub.close();
    await receiver.close();
    await query(`DROP SCHEMA IF EXISTS ${schema} CASCADE`);
  });
  const arrivals = async () => ({
    webhook: webhookLeads(receiver).map(({ lead }) => lead),
    csv: csvLeads(drop),
    postgres: await postgresLeads(schema),
  });
  const served = () => stub.served.ids().map(String);
  return {
    ...configured,
    stub,
    receiver,
    arrivals,
    served,
    complete: async () => {
      const count = served().length;
      if (count < stub.shown) return false;
      return Object.values(await arrivals()).every((leads) => new Set(leads).size >= count);
    },
    webhookIds: () => {
      const ids = new Map<string, Set<string>>();
      for (const { lead, webhookId } of webhookLeads(receiver))
        ids.set(lead, (ids.get(lead) ?? new Set()).add(webhookId));
      return ids;
    },
  };
}

function webhookLeads(receiver: WebhookReceiver): { lead: string; webhookId: string }[] {
  return receiver.received.map(({ body, headers }) => ({
    lead: String(JSON.parse(body.toString()).data.id),
    webhookId: String(headers['webhook-id']),
  }));
}

function csvLeads(folder: string): string[] {
  const files = readdirSync(folder).filter((name) => name.endsWith('.csv'));
  return files.flatMap((name) => {
    const rows: Record<string, string>[] = parse(readFileSync(join(folder, name)), { columns: true });
    return rows.map((row) => row['id'] ?? '');
  });
}

async function postgresLeads(schema: string): Promise<string[]> {
  const rows = await query<{ id: string }>(`SELECT id FROM ${schema}.leads`);
  return rows.map((row) => row.id);
}

async function query<Row extends pg.QueryResultRow>(sql: string): Promise<Row[]> {
  const client = new pg.Client({ connectionString: requireDatabaseUrl() });
  await client.connect();
  try {
    return (await client.query<Row>(sql)).rows;
  } finally {
    await client.end();
  }
}

/** Lead ids in their natural order. */
export function sorted(ids: readonly string[]): string[] {
  return ids.toSorted((a, b) => Number(a) - Number(b));
}

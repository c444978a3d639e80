import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import pg from 'pg';
import { type Stub, type StubOptions, startStub } from '../../stub/stub.ts';
import {
  type ConfiguredFolder,
  type Daemon,
  type LeadsyncOptions,
  runLeadsync,
  startDaemon,
  writeConfig,
} from '../program/leadsync.ts';
import { requireDatabaseUrl, requireRedisUrl, uniqueName } from '../servers/services.ts';
import { startWebhookReceiver, type WebhookReceiver } from '../servers/webhook-receiver.ts';

export type CarrierName = 'in-process' | 'bullmq';
export const carriers: readonly CarrierName[] = ['in-process', 'bullmq'];

/** The sinks of a scene, by name: a webhook, CSV files and a PostgreSQL schema. */
export const SINKS = ['crm', 'drop', 'warehouse'] as const;
export type SinkName = (typeof SINKS)[number];

/** A lead that a sink holds. */
export interface Held {
  /** The name of the source that listed the lead. */
  readonly source: string;
  readonly lead: string;
  /** The stub's version number of the lead, counted from 1. */
  readonly version: number;
  /** The key by which the sink recognises a repeat: the webhook's delivery id, the file and the delivery id, or the row's key. */
  readonly under: string;
  /** The lead's JSON as it arrived; absent if the sink does not keep it. */
  readonly raw?: string;
}

/** Returns a lead's key across all sources: `source:id`. */
export function keyOf({ source, lead }: Pick<Held, 'source' | 'lead'>): string {
  return `${source}:${lead}`;
}

/** Returns what the sink holds for a reader who drops repeats of the same idempotency key. */
export function withoutRepeats(held: readonly Held[]): Held[] {
  const met = new Set<string>();
  return held.filter((one) => met.size !== met.add(`${keyOf(one)} ${one.under}`).size);
}

/** Returns, for each lead's key, the version that arrived last. */
export function lastOfEach(held: readonly Held[]): ReadonlyMap<string, number> {
  return new Map(withoutRepeats(held).map((one) => [keyOf(one), one.version]));
}

/** A file, by its name. */
export interface NamedFile {
  readonly name: string;
  readonly content: Buffer;
}

/** A sink of CSV files outside the scene's own folder. */
export interface ExtraDrop {
  readonly options: Readonly<Record<string, unknown>>;
  /** Returns the files in the order of their names. */
  files(): NamedFile[];
}

/** A sink of another type, and what it holds. */
export interface OtherSink {
  /** All of its options. */
  readonly options: Readonly<Record<string, unknown>>;
  /** Returns what it holds, in order of arrival and with repeats; absent if `held` of the scene does not read it. */
  held?(): Promise<Held[]>;
}

export interface SceneOptions {
  readonly stub?: StubOptions;
  /** Replaces parts of the configuration. */
  readonly config?: Readonly<Record<string, unknown>>;
  /** Adds options to the source: `{ timeout: '3s' }`. */
  readonly source?: Readonly<Record<string, unknown>>;
  /** Adds options to the sinks: `{ crm: { concurrency: 1 } }`. */
  readonly sinks?: Readonly<Partial<Record<SinkName, Readonly<Record<string, unknown>>>>>;
  /** Additional webhooks by name, each with its own receiver and these options. */
  readonly receivers?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  /** Additional sinks of CSV files by name, with these options, and the files that each has written. */
  readonly drops?: Readonly<Record<string, ExtraDrop>>;
  /** Sinks of other types by name. */
  readonly others?: Readonly<Record<string, OtherSink>>;
  /** Additional sources by name, each with its own service. Their lead ids may collide; a `seed` makes their texts differ. */
  readonly services?: Readonly<Record<string, StubOptions>>;
  /** The servers that all tests share, if absent. */
  readonly redisUrl?: string;
  readonly databaseUrl?: string;
}

/** A service, a leadsync configuration for it, and one sink of each type: everything needed to compare both ends. */
export interface Scene extends ConfiguredFolder {
  readonly carrier: CarrierName;
  readonly stub: Stub;
  readonly receiver: WebhookReceiver;
  /** Every service by its source's name: `main` and those of the options. */
  readonly services: Readonly<Record<string, Stub>>;
  /** Every receiver by its sink's name: `crm` and those of the options. */
  readonly receivers: Readonly<Record<string, WebhookReceiver>>;
  /** The folder of the CSV files. */
  readonly drop: string;
  /** The PostgreSQL schema, and a way to query its database. */
  readonly schema: string;
  query<Row extends pg.QueryResultRow>(sql: string): Promise<Row[]>;
  /** Starts `leadsync run` (or other `args`); the process ends with the scene. */
  start(options?: LeadsyncOptions & { readonly args?: readonly string[] }): Promise<Daemon>;
  /** Runs a command to its end with this configuration. */
  run(...args: string[]): ReturnType<typeof runLeadsync>;
  /** Returns the generated leads that readable listings have contained. */
  served(): { readonly source: string; readonly lead: string }[];
  /** Returns what each sink accepted, in order of arrival and with repeats. A webhook accepted what it answered with 2xx. */
  held(): Promise<Record<SinkName, Held[]> & Readonly<Record<string, Held[]>>>;
  /** Whether every lead that the services show was served and every sink holds its newest version last. */
  complete(): Promise<boolean>;
  close(): Promise<void>;
}

/** Opens a scene in a folder that belongs to the caller. */
export async function openScene(
  folder: string,
  carrier: CarrierName,
  options: SceneOptions = {},
): Promise<Scene> {
  const services = await each({ main: options.stub ?? {}, ...options.services }, startStub);
  const receivers = await each({ crm: {}, ...options.receivers }, () => startWebhookReceiver());
  const { main: stub } = services;
  const { crm: receiver } = receivers;
  const schema = uniqueName('scene');
  const drop = join(folder, 'drop');
  const databaseUrl = options.databaseUrl ?? requireDatabaseUrl();
  const configured = await writeConfig(folder, {
    sources: Object.fromEntries(
      Object.entries(services).map(([name, service]) => [name, { ...sourceAt(service), ...options.source }]),
    ),
    sinks: {
      ...Object.fromEntries(
        Object.entries(receivers).map(([name, { url }]) => [
          name,
          { type: 'webhook', url, secret: SECRET, ...options.receivers?.[name] },
        ]),
      ),
      ...Object.fromEntries(
        Object.entries(options.drops ?? {}).map(([name, one]) => [name, { type: 'csv', ...one.options }]),
      ),
      ...Object.fromEntries(Object.entries(options.others ?? {}).map(([name, one]) => [name, one.options])),
      crm: { type: 'webhook', url: receiver.url, secret: SECRET, ...options.sinks?.crm },
      drop: { type: 'csv', directory: drop, batch: { max: 100, wait: '500ms' }, ...options.sinks?.drop },
      // With the JSON of every lead, so that tests can compare it with what the service listed.
      warehouse: { type: 'postgres', url: databaseUrl, schema, raw: true, ...options.sinks?.warehouse },
    },
    ...(carrier === 'bullmq' ? { queue: queueOn(options.redisUrl ?? requireRedisUrl()) } : {}),
    ...options.config,
  });
  const query = <Row extends pg.QueryResultRow>(sql: string) => queryOnce<Row>(databaseUrl, sql);
  const daemons: Daemon[] = [];
  const held = async () => ({
    ...Object.fromEntries(Object.entries(receivers).map(([name, one]) => [name, heldByWebhook(one)])),
    ...Object.fromEntries(
      Object.entries(options.drops ?? {}).map(([name, one]) => [name, heldInFiles(one.files())]),
    ),
    ...(await heldByOthers(options.others ?? {})),
    crm: heldByWebhook(receiver),
    drop: heldInFiles(filesIn(drop)),
    warehouse: await heldInTable(schema, query),
  });
  const stubs: readonly Stub[] = Object.values(services);
  const served = () =>
    Object.entries(services).flatMap(([source, one]) =>
      one.served.ids().map((id) => ({ source, lead: String(id) })),
    );
  return {
    ...configured,
    carrier,
    stub,
    receiver,
    services,
    receivers,
    drop,
    schema,
    query,
    served,
    held,
    start: async (how) => {
      const daemon = await startDaemon(configured.configFile, configured.adminUrl, how);
      daemons.push(daemon);
      return daemon;
    },
    run: (...args) => runLeadsync([...args, '-c', configured.configFile]),
    complete: async () => {
      if (stubs.some((one) => one.served.ids().length < one.shown)) return false;
      const newest = new Set(
        Object.entries(services).flatMap(([source, { served: at }]) =>
          at.ids().map((id) => `${source}:${id}:${at.newest(id)}`),
        ),
      );
      const hasNewest = (leads: readonly Held[]) =>
        newest.isSubsetOf(new Set([...lastOfEach(leads)].map(([lead, version]) => `${lead}:${version}`)));
      // What is in memory comes first, because tests ask often and the rest is read from files and servers.
      if (!Object.values(receivers).every((one) => hasNewest(heldByWebhook(one)))) return false;
      return Object.values(await held()).every(hasNewest);
    },
    close: async () => {
      for (const daemon of daemons) daemon.process.kill('SIGKILL');
      await Promise.all(daemons.map((daemon) => daemon.exited));
      await Promise.all([...stubs, ...Object.values(receivers)].map((one) => one.close()));
      // The scene's own database may be gone already.
      await query(`DROP SCHEMA IF EXISTS ${schema} CASCADE`).catch(() => undefined);
    },
  };
}

/** The secret of every webhook of a scene. */
export const SECRET = `whsec_${Buffer.alloc(24, 7).toString('base64')}`;

function sourceAt(stub: Stub) {
  return {
    base_url: stub.url,
    client_id: stub.clientId,
    client_secret: stub.clientSecret,
    poll: { every: '1s' },
  };
}

/** Starts one thing for each entry. */
async function each<Options extends Readonly<Record<string, unknown>>, Started>(
  entries: Options,
  start: (options: Options[keyof Options]) => Promise<Started>,
): Promise<Record<keyof Options, Started>> {
  const started: Partial<Record<keyof Options, Started>> = {};
  for (const name in entries) started[name] = await start(entries[name]);
  return started as Record<keyof Options, Started>;
}

function queueOn(redisUrl: string) {
  return { redis_url: redisUrl, prefix: uniqueName('scene') };
}

async function heldByOthers(others: Readonly<Record<string, OtherSink>>): Promise<Record<string, Held[]>> {
  const held: Record<string, Held[]> = {};
  for (const [name, one] of Object.entries(others)) if (one.held) held[name] = await one.held();
  return held;
}

function heldByWebhook(receiver: WebhookReceiver): Held[] {
  return receiver.received.flatMap(({ body, headers, status = 0 }) => {
    if (status < 200 || status > 299) return [];
    const ownId = String(headers['webhook-id']);
    return [...body.toString().matchAll(EVENT)].map(([, id = ownId, raw = '', source = '']) => ({
      source,
      lead: /"id"\s*:\s*(\d+)/.exec(raw)?.[1] ?? '',
      version: versionIn(raw),
      under: id,
      // A mapping changed the form of the lead, so its text cannot be compared.
      ...(/,"form":\d+\}$/.test(raw) ? {} : { raw }),
    }));
  });
}

/** Matches an event in a webhook's body: its own id if it is in a batch, the lead's text and its source. */
const EVENT =
  /(?:\{"id":"([^"]*)",)?"type":"lead\.(?:created|updated)","timestamp":"[^"]*","data":(.*?),"source":"([^"]*)","replay":/gs;

/** Reads the files in the order of their names, which begin with a time, and each file from first row to last. */
function heldInFiles(files: readonly NamedFile[]): Held[] {
  return files.flatMap(({ name, content }) => {
    const rows: Record<string, string>[] = parse(content, { columns: true });
    return rows.map((row) => ({
      source: row['_leadsync_source'] ?? '',
      lead: row['_leadsync_lead_id'] ?? row['id'] ?? '',
      // A lead that went out as received, beside mapped ones, is in a column of its own.
      version: versionIn(row['_leadsync_raw'] || row['all_details_one_liner'] || ''),
      under: `${name}:${row['_leadsync_delivery_id']}`,
    }));
  });
}

function filesIn(folder: string): NamedFile[] {
  return csvFiles(folder).map((name) => ({ name, content: readFileSync(join(folder, name)) }));
}

/** Returns the files that a reader of the drop folder would pick up. */
export function csvFiles(folder: string): string[] {
  try {
    return readdirSync(folder)
      .filter((name) => name.endsWith('.csv') && !name.startsWith('.'))
      .toSorted((a, b) => a.localeCompare(b, 'en', { numeric: true }));
  } catch {
    // No file exists yet, or a test has moved the folder away.
    return [];
  }
}

/** The SQLSTATE of a table, or of its schema, that does not exist. */
const UNDEFINED_TABLE = '42P01';

async function heldInTable(schema: string, query: Scene['query']): Promise<Held[]> {
  const rows = await query<{ source: string; id: string; raw: string }>(
    `SELECT source, id, coalesce(_leadsync_original, _leadsync_raw::text) AS raw FROM ${schema}.leads ORDER BY source, id`,
  ).catch((error: { code?: string }) => {
    if (error.code === UNDEFINED_TABLE) return [];
    throw error;
  });
  return rows.map(({ source, id, raw }) => ({ source, lead: id, version: versionIn(raw), under: id, raw }));
}

/** Reads the version from the lead's text, where the stub writes the number of changes. */
export function versionIn(text: string): number {
  return Number(/Changed (\d+)×/.exec(text)?.[1] ?? 0) + 1;
}

async function queryOnce<Row extends pg.QueryResultRow>(url: string, sql: string): Promise<Row[]> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => undefined); // a server that is killed while it answers also makes the query fail
  await client.connect();
  try {
    return (await client.query<Row>(sql)).rows;
  } finally {
    await client.end();
  }
}

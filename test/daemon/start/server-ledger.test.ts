import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import { stringify } from 'yaml';
import { PostgresStore } from '../../ledger-postgres/postgres-store.ts';
import { startStub } from '../../stub/stub.ts';
import { tempDir } from '../../support/files/temp-dir.ts';
import { requireDatabaseUrl } from '../../support/servers/services.ts';
import { startWebhookReceiver } from '../../support/servers/webhook-receiver.ts';
import { until } from '../../support/time/until.ts';

const PROGRAM = fileURLToPath(new URL('./server-ledger-process.ts', import.meta.url));
const LEADS = 300;
const CONCURRENCY = 4;

/** A service, a receiver and a database for a sink, and a daemon for them in a process of its own, whose ledger is in PostgreSQL. */
async function aScene() {
  const store = new PostgresStore();
  const stub = await startStub({ leads: LEADS });
  onTestFinished(() => stub.close());
  const crm = await startWebhookReceiver();
  onTestFinished(() => crm.close());
  const folder = tempDir();
  const file = join(folder, 'leadsync.yaml');
  const schema = `${store.schema}_sink`;
  onTestFinished(async () => void (await store.query(`DROP SCHEMA IF EXISTS ${schema} CASCADE`)));
  const { url: base_url, clientId: client_id, clientSecret: client_secret } = stub;
  const config = {
    sources: { main: { base_url, client_id, client_secret, poll: { every: '1s' } } },
    sinks: {
      crm: { type: 'webhook', url: crm.url, concurrency: CONCURRENCY },
      warehouse: { type: 'postgres', url: requireDatabaseUrl(), schema },
    },
    admin: { listen: 'off' },
    ledger: { create: 'always' },
  };
  writeFileSync(file, stringify(config));
  let log = '';
  const start = () => {
    const daemon = fork(PROGRAM, [file, requireDatabaseUrl(), store.schema], {
      stdio: [null, null, 'pipe', 'ipc'],
    });
    daemon.stderr?.on('data', (text) => {
      log += text;
    });
    onTestFinished(() => void daemon.kill('SIGKILL'));
    return daemon;
  };
  /** Returns the names of the files and folders in the data directory. */
  const files = () => readdirSync(join(folder, 'data'));
  return { store, crm, schema, start, files, log: () => log };
}

it('with a ledger in PostgreSQL, every lead arrives, and none twice but those being sent when leadsync is killed', async () => {
  const { store, crm, schema, start, files, log } = await aScene();
  const ids = () => crm.received.map(({ headers }) => String(headers['webhook-id']));
  const first = start();
  await until('some leads have arrived', () => ids().length > LEADS / 4);
  first.kill('SIGKILL');
  await once(first, 'exit');
  await crm.disconnected();
  expect(new Set(ids()).size).toBeLessThan(LEADS);
  const second = start();
  const pending = () => store.query("SELECT 1 FROM _deliveries WHERE state <> 'delivered'");
  await until('every lead is delivered', async () => (await pending()).length === 0);
  expect(await exitCodeAfterStop(second)).toBe(0);
  expect(new Set(ids()).size).toBe(LEADS);
  expect(ids().length - LEADS).toBeLessThanOrEqual(CONCURRENCY);
  expect(await store.query(`SELECT count(*)::int AS leads FROM ${schema}.leads`)).toEqual([{ leads: LEADS }]);
  expect(await store.contradictions()).toEqual([]);
  expect(files().filter((name) => name.startsWith('ledger'))).toEqual([]);
  // A ledger in PostgreSQL is not copied to a sink.
  expect(await store.query(`SELECT 1 FROM ${schema}.polls`)).toEqual([]);
  expect(log()).not.toContain('ledger-failed');
});

it('leadsync stops when another ledger takes the place of its own, and says where', async () => {
  const { store, crm, start, log } = await aScene();
  const daemon = start();
  await until('a lead has arrived', () => crm.received.length > 0);
  const ended = once(daemon, 'close');
  await store.query("UPDATE _ledger SET id = 'another'");
  expect(await ended).toEqual([3, null]);
  expect(log()).toContain(`The ledger in the schema ${store.schema} of PostgreSQL at `);
});

async function exitCodeAfterStop(daemon: ChildProcess): Promise<number | null> {
  const ended = once(daemon, 'exit');
  daemon.send('stop');
  const [code] = await ended;
  return code;
}

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

it('with a ledger in PostgreSQL, every lead arrives, and none twice but those being sent when leadsync is killed', async () => {
  const store = new PostgresStore();
  const stub = await startStub({ leads: LEADS });
  onTestFinished(() => stub.close());
  const crm = await startWebhookReceiver();
  onTestFinished(() => crm.close());
  const folder = tempDir();
  const file = join(folder, 'leadsync.yaml');
  const { url: base_url, clientId: client_id, clientSecret: client_secret } = stub;
  writeFileSync(
    file,
    stringify({
      sources: { main: { base_url, client_id, client_secret, poll: { every: '1s' } } },
      sinks: { crm: { type: 'webhook', url: crm.url, concurrency: CONCURRENCY } },
      admin: { listen: 'off' },
      ledger: { create: 'always' },
    }),
  );
  const start = () => fork(PROGRAM, [file, requireDatabaseUrl(), store.schema], { stdio: 'ignore' });
  const ids = () => crm.received.map(({ headers }) => String(headers['webhook-id']));
  const first = start();
  onTestFinished(() => void first.kill('SIGKILL'));
  await until('some leads have arrived', () => ids().length > LEADS / 4);
  first.kill('SIGKILL');
  await once(first, 'exit');
  await crm.disconnected();
  expect(new Set(ids()).size).toBeLessThan(LEADS);
  const second = start();
  onTestFinished(() => void second.kill('SIGKILL'));
  await until('every lead has arrived', () => new Set(ids()).size === LEADS);
  expect(await exitCodeAfterStop(second)).toBe(0);
  expect(ids().length - LEADS).toBeLessThanOrEqual(CONCURRENCY);
  const states = await store.query(
    'SELECT state, count(*)::int AS deliveries FROM _deliveries GROUP BY state ORDER BY state',
  );
  expect(states).toEqual([{ state: 'delivered', deliveries: LEADS }]);
  expect(await store.contradictions()).toEqual([]);
  expect(readdirSync(join(folder, 'data')).filter((name) => name.startsWith('ledger'))).toEqual([]);
});

async function exitCodeAfterStop(daemon: ChildProcess): Promise<number | null> {
  const ended = once(daemon, 'exit');
  daemon.send('stop');
  const [code] = await ended;
  return code;
}

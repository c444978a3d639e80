import pg from 'pg';
import { expect, onTestFinished } from 'vitest';
import { CONTRADICTIONS } from '../../ledger-postgres/contradictions.ts';
import type { Daemon } from '../../support/program/leadsync.ts';
import { aScene } from '../../support/scene/a-scene.ts';
import type { Allowed } from '../../support/scene/oracle.ts';
import type { CarrierName, Scene, SceneOptions } from '../../support/scene/scene.ts';
import type { PrivatePostgres } from '../../support/servers/private-postgres.ts';
import { uniqueName } from '../../support/servers/services.ts';
import { Wire } from '../../support/servers/wire.ts';
import { until } from '../../support/time/until.ts';
import { expectKept } from '../kept.ts';

/** A scene whose ledger is in PostgreSQL, at the end of a line that can fail. */
export interface SceneOnServer extends Scene {
  readonly line: Wire;
  /** The address of the ledger by way of the line, and its schema. */
  readonly ledger: { readonly url: string; readonly schema: string };
  /** Runs SQL in the schema of the ledger, as the administrator and not by way of the line. */
  sql<Row>(text: string): Promise<Row[]>;
  /** Ends every session but its own at the server, which leads leadsync to log in again. */
  endSessions(): Promise<void>;
}

/** Opens a scene whose ledger is in a schema of its own. `login` is what leadsync logs in with: `user:password`. */
export async function aSceneOnServer(
  server: Pick<PrivatePostgres, 'url' | 'port'>,
  carrier: CarrierName,
  { login = 'leadsync', ...options }: SceneOptions & { readonly login?: string } = {},
): Promise<SceneOnServer> {
  const line = await Wire.to(server.port);
  onTestFinished(() => line.close());
  const schema = uniqueName('ledger');
  const ledger = { url: `postgresql://${login}@127.0.0.1:${line.port}/postgres`, schema };
  const sql = <Row>(text: string) => query<Row>(server.url, schema, text);
  const endSessions = async () => {
    await sql(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'",
    );
  };
  // The lease of an attempt lasts longer than any trouble of these tests, however busy the machine is.
  const crm = { timeout: '120s' };
  const scene = await aScene(carrier, {
    sinks: { crm },
    ...options,
    config: { ledger, tokens: { encryption_key: 'a passphrase for every machine' }, ...options.config },
  });
  return { ...scene, line, ledger, sql, endSessions };
}

async function query<Row>(url: string, schema: string, text: string): Promise<Row[]> {
  const client = await connected(url, schema);
  try {
    return (await client.query(text)).rows as Row[];
  } finally {
    await client.end();
  }
}

async function connected(url: string, schema: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url, options: `-c search_path=${schema}` });
  client.on('error', () => undefined); // the query fails as well
  await client.connect();
  return client;
}

/**
 * Expects that work with the ledger fails for this reason, that the daemon lives and is not ready, and that nothing that it says contains the password.
 * Once the ledger does not record that the process is alive, no poll begins, so not every trouble makes one fail.
 */
export async function expectReported(daemon: Daemon, reason: RegExp): Promise<void> {
  const failures = () =>
    daemon.log.filter(({ event }) => event === 'poll-failed' || event === 'ledger-failed');
  const isMeant = (one: Readonly<Record<string, unknown>>) => reason.test(String(one['reason']));
  const { hint } = await until('leadsync says why', () => failures().find(isMeant), 60_000);
  expect(hint).toMatch(/\.$/);
  expect((await fetch(`${daemon.adminUrl}/livez`)).status).toBe(200);
  await until('it is not ready', async () => {
    const answer = await fetch(`${daemon.adminUrl}/readyz`);
    const { reasons } = (await answer.json()) as { reasons: string[] };
    return answer.status === 503 && reasons.some((one) => reason.test(one));
  });
  expect(daemon.stderr).not.toContain('let-me-in');
}

/**
 * Expects that leadsync brings every lead to every sink, and that the tables of the ledger agree. Waits until the ledger has every outcome: leadsync tries
 * for some seconds to record those of the trouble, and a stop meanwhile is another fault.
 */
export async function expectAllKept(scene: SceneOnServer, daemon: Daemon, allowed: Allowed): Promise<void> {
  const pending = "SELECT 1 FROM deliveries WHERE state = 'pending' LIMIT 1";
  const isSettled = async () => (await scene.complete()) && (await scene.sql(pending)).length === 0;
  await until('the ledger has every outcome', isSettled, 90_000);
  await expectKept(scene, daemon, allowed);
  expect(await scene.sql(CONTRADICTIONS)).toEqual([]);
}

/** Adds leads whose deliveries wait for an answer, and returns a function that gives the answers. */
export async function deliveriesUnderWay(
  { stub, receiver }: SceneOnServer,
  leads: number,
): Promise<() => void> {
  const before = receiver.received.length;
  const answering = Promise.withResolvers<void>();
  receiver.answerAlways(async (_request, res) => {
    await answering.promise;
    res.writeHead(204).end();
  });
  stub.addLeads(leads);
  await until('deliveries are under way', () => receiver.received.length > before, 60_000);
  return answering.resolve;
}

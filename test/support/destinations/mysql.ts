import { type Connection, createConnection } from 'mysql2/promise';
import { startProxy } from '../../sinks/mysql/proxy.ts';
import { type Held, type Scene, versionIn } from '../scene/scene.ts';
import { type PrivateMariadb, startMariadb } from '../servers/private-mariadb.ts';
import { type Destination, type DestinationType, repeatedKeys } from './destination.ts';

/** The server, the line to it, and the connection of another client that holds a lock. */
interface Troubled {
  readonly server: PrivateMariadb;
  readonly proxy: Awaited<ReturnType<typeof startProxy>>;
  holder: Connection | undefined;
}

const MANY = Number.POSITIVE_INFINITY;

/** What the server and the line to it can do wrong, in words. */
const TROUBLES: Readonly<Record<string, (it: Troubled) => unknown>> = {
  'is killed': ({ server }) => server.crash(),
  'is frozen': ({ server }) => server.freeze(),
  'breaks the connection before each commit': ({ proxy }) => proxy.cutBeforeCommit(MANY),
  'commits and breaks the connection': ({ proxy }) => proxy.cutAfterCommit(MANY),
  'ends every connection': ({ server }) => endConnections(server),
  'has its table locked': (it) => hold(it, 'LOCK TABLES leads WRITE'),
  'has its answers locked': (it) => hold(it, 'LOCK TABLES lead_answers READ'),
  'has its rows locked': (it) => hold(it, 'BEGIN; SELECT COUNT(*) FROM leads FOR UPDATE'),
};

/** Makes the server note each row that took an older content. */
const WATCH = `
  CREATE TABLE backwards (lead VARCHAR(200), was INT, became INT);
  CREATE TRIGGER watch AFTER UPDATE ON leads FOR EACH ROW
    INSERT INTO backwards SELECT CONCAT(NEW.source, ':', NEW.id), OLD._leadsync_version, NEW._leadsync_version
    FROM DUAL WHERE NEW._leadsync_version < OLD._leadsync_version`;

/** A MariaDB of its own, which is reached through a proxy. */
export const mysql: DestinationType = {
  troubles: Object.keys(TROUBLES),
  fields: (number) => ({ form: { value: number }, [`form_${number % 3}`]: { value: `Form ${number}` } }),
  open: openMysql,
};

/** A MariaDB that its tests can query as an administrator. */
export interface MysqlDestination extends Destination {
  setUp(scene: Scene): Promise<void>;
  query(sql: string): Promise<Record<string, string>[]>;
}

/** Starts a MariaDB and a proxy before it. */
export async function openMysql(): Promise<MysqlDestination> {
  // A commit survives the end of the server's process, as with the server's own default.
  const server = await startMariadb({ settings: { 'innodb-flush-log-at-trx-commit': 2 } });
  const setUp = await connected(server, 'mysql');
  await setUp.query('CREATE DATABASE chaos CHARACTER SET utf8mb4');
  await setUp.end();
  const url = new URL(server.url);
  url.pathname = '/chaos';
  const proxy = await startProxy(url.href);
  const it: Troubled = { server, proxy, holder: undefined };
  return {
    options: { type: 'mysql', url: proxy.url, raw: true, events: ['created', 'updated'], timeout: '3s' },
    setUp: (scene) => makeTables(scene, server),
    misbehave: (trouble) => TROUBLES[trouble]?.(it),
    behave: () => behave(it),
    held: () => readLeads(server),
    faults: () => faultsIn(server),
    query: (sql) => query(server, sql),
    close: async () => {
      it.holder?.destroy();
      proxy.close();
      await server.close();
    },
  };
}

async function makeTables(scene: Scene, server: PrivateMariadb): Promise<void> {
  const { code, stderr } = await scene.run('setup', 'mysql', '--yes');
  if (code !== 0) throw new Error(`leadsync setup mysql ended with ${code}: ${stderr}`);
  await query(server, WATCH);
}

async function behave(it: Troubled): Promise<void> {
  const { server, proxy, holder } = it;
  it.holder = undefined;
  holder?.destroy();
  proxy.cutBeforeCommit(0);
  server.thaw();
  if (server.process.exitCode !== null || server.process.signalCode !== null) await server.restart();
}

/** Holds a lock until `behave`. */
async function hold(it: Troubled, lock: string): Promise<void> {
  it.holder = await connected(it.server);
  await it.holder.query(lock);
}

async function endConnections(server: PrivateMariadb): Promise<void> {
  const connections = await query(
    server,
    "SELECT id FROM information_schema.processlist WHERE db = 'chaos' AND id <> CONNECTION_ID()",
  );
  for (const { id } of connections) await query(server, `KILL ${id}`).catch(() => undefined); // it may have ended
}

async function readLeads(server: PrivateMariadb): Promise<Held[]> {
  const rows = await query(
    server,
    'SELECT source, id, COALESCE(_leadsync_original, _leadsync_raw) AS raw FROM leads ORDER BY source, id',
  );
  return rows.map(({ source = '', id = '', raw = '' }) => ({
    source,
    lead: id,
    version: versionIn(raw),
    under: id,
    raw,
  }));
}

/** Returns the rows that are there twice, that took an older content, or whose answers are not those of their content. */
async function faultsIn(server: PrivateMariadb): Promise<string[]> {
  const keys = await query(server, "SELECT CONCAT(source, ':', id) AS lead FROM leads");
  const backwards = await query(server, 'SELECT lead, was, became FROM backwards');
  const answers = await query(
    server,
    `SELECT CONCAT(l.source, ':', l.id) AS lead, JSON_LENGTH(l._leadsync_raw, '$.service_question_answers') AS wanted,
       (SELECT COUNT(*) FROM lead_answers a WHERE a.source = l.source AND a.lead_id = l.id) AS stored
     FROM leads l HAVING wanted <> stored`,
  );
  return [
    ...repeatedKeys(keys.map(({ lead = '' }) => lead)),
    ...backwards.map(({ lead, was, became }) => `${lead} went from version ${was} back to ${became}`),
    ...answers.map(({ lead, wanted, stored }) => `${lead} has ${stored} answers, and its content ${wanted}`),
  ];
}

async function query(server: PrivateMariadb, sql: string): Promise<Record<string, string>[]> {
  const connection = await connected(server);
  try {
    const [rows] = await connection.query(sql);
    return rows as Record<string, string>[];
  } finally {
    connection.destroy();
  }
}

/** Connects as an administrator, past the proxy. */
function connected({ port }: PrivateMariadb, database = 'chaos'): Promise<Connection> {
  return createConnection({
    host: '127.0.0.1',
    port,
    user: 'root',
    database,
    connectTimeout: 5_000,
    multipleStatements: true,
    // Every value as text.
    typeCast: (field) => field.string('utf8') as string,
  });
}

import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import pg from 'pg';
import { onTestFinished } from 'vitest';
import { judgeBy } from '../../src/delivery/judge.ts';
import type { Ledger } from '../../src/ledger/contract/ledger.ts';
import type { BeforeStatement } from '../../src/ledger-postgres/database/transaction.ts';
import { openPostgresLedger } from '../../src/ledger-postgres/postgres-ledger.ts';
import { systemClock } from '../../src/platform/time/clock.ts';
import { LedgerUnderTest } from '../ledger/ledger-under-test.ts';
import { type PrivatePostgres, startPostgres } from '../support/servers/private-postgres.ts';
import { until } from '../support/time/until.ts';

/** A line of a process to the server. */
interface Line {
  readonly socket: Socket;
  /** Whether it has only been used for transactions that read. */
  onlyReads: boolean;
}

/** A primary and an asynchronous standby, behind one address that leads to one of them. All of it ends with the running test. */
export class ServerPair {
  readonly primary: PrivatePostgres;
  readonly standby: PrivatePostgres;
  readonly #front: Server;
  readonly #lines = new Set<Line>();
  #target: PrivatePostgres;

  private constructor(primary: PrivatePostgres, standby: PrivatePostgres) {
    this.primary = primary;
    this.standby = standby;
    this.#target = primary;
    this.#front = createServer((client) => this.#connect(client));
  }

  static async start(): Promise<ServerPair> {
    const primary = await startPostgres();
    onTestFinished(() => primary.close());
    const standby = await startPostgres({ standbyOf: primary.url });
    onTestFinished(() => standby.close());
    const pair = new ServerPair(primary, standby);
    pair.#front.listen(0, '127.0.0.1');
    await once(pair.#front, 'listening');
    onTestFinished(() => {
      pair.#front.close();
      pair.cut();
    });
    return pair;
  }

  /** Opens a ledger at the address, which begins at the primary. */
  async open(beforeStatement?: BeforeStatement): Promise<LedgerUnderTest> {
    const ledger = await this.openLedger(beforeStatement);
    onTestFinished(() => ledger.close());
    return LedgerUnderTest.with(() => ledger, 'crm');
  }

  openLedger(beforeStatement?: BeforeStatement): Promise<Ledger> {
    const { port } = this.#front.address() as AddressInfo;
    return openPostgresLedger({
      url: `postgresql://leadsync@127.0.0.1:${port}/postgres`,
      schema: 'ledger',
      connections: 4,
      applicationName: 'test',
      beforeStatement,
      clock: systemClock,
      random: Math.random,
      judge: judgeBy(
        () => ({ scheduleMs: [], jitter: 0 }),
        () => 0.5,
      ),
      create: true,
    });
  }

  /** Waits until the standby has all commits, and then keeps it from getting more. */
  async stopReplication(): Promise<void> {
    const [written] = await query<{ lsn: string }>(this.primary, 'SELECT pg_current_wal_lsn()::text AS lsn');
    await until('the standby has all commits', () =>
      isTrue(this.standby, `pg_last_wal_replay_lsn() >= '${written?.lsn}'`),
    );
    await query(this.standby, "ALTER SYSTEM SET primary_conninfo = ''");
    await query(this.standby, 'SELECT pg_reload_conf()');
    await until('the standby receives nothing more', () =>
      isTrue(this.standby, 'NOT EXISTS (SELECT 1 FROM pg_stat_wal_receiver)'),
    );
  }

  /** Makes the standby a primary, and lets new lines lead to it. The former primary goes on, as do the lines to it. */
  async failOver(): Promise<void> {
    await query(this.standby, 'SELECT pg_promote()');
    this.leadTo(this.standby);
  }

  leadTo(server: PrivatePostgres): void {
    this.#target = server;
  }

  /** Cuts the lines, or only those that were used for writes. */
  cut(which: 'all' | 'writing' = 'all'): void {
    for (const line of this.#lines) if (which === 'all' || !line.onlyReads) line.socket.destroy();
  }

  #connect(client: Socket): void {
    const upstream = connect(this.#target.port, '127.0.0.1');
    const line: Line = { socket: client, onlyReads: false };
    this.#lines.add(line);
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      socket.on('error', () => other.destroy());
      socket.on('close', () => {
        other.destroy();
        this.#lines.delete(line);
      });
      socket.on('data', (data) => other.write(data));
    }
    client.on('data', (data) => {
      if (data.includes('READ ONLY')) line.onlyReads = true;
    });
  }
}

/** Runs a statement at a server. */
export async function query<Row extends pg.QueryResultRow>(
  { url }: PrivatePostgres,
  sql: string,
): Promise<Row[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Row>(sql)).rows;
  } finally {
    await client.end();
  }
}

async function isTrue(server: PrivatePostgres, condition: string): Promise<boolean> {
  const [row] = await query<{ so: boolean }>(server, `SELECT ${condition} AS so`);
  return row?.so === true;
}

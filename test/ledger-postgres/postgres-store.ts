import pg from 'pg';
import { onTestFinished } from 'vitest';
import type { Ledger } from '../../src/ledger/contract/ledger.ts';
import type { Attempt } from '../../src/ledger/contract/ledger-delivering.ts';
import type { PostgresPlace } from '../../src/ledger-postgres/database/postgres-access.ts';
import { openPostgresLedger } from '../../src/ledger-postgres/postgres-ledger.ts';
import type { Clock } from '../../src/platform/time/clock.ts';
import { HOUR, type OpenLedger } from '../ledger/ledger-under-test.ts';
import { requireDatabaseUrl, uniqueName } from '../support/servers/services.ts';
import type { HeldClock } from '../support/time/held-clock.ts';
import { until } from '../support/time/until.ts';
import { CONTRADICTIONS } from './contradictions.ts';

const admin = new pg.Pool({ connectionString: requireDatabaseUrl(), max: 2, allowExitOnIdle: true });

/** An empty schema for one test, which is dropped with the test, and the ledgers in it. */
export class PostgresStore {
  readonly schema = uniqueName('ledger');
  #created: Promise<void> | undefined;
  /** The time that the ledger has been told last, in ms since 1970. */
  #told = Number.NaN;
  readonly #open: Ledger[] = [];

  readonly #place: Partial<PostgresPlace>;
  readonly #aheadMs: number;
  readonly #admin: pg.Pool;

  /**
   * `place` says how the ledgers differ from those of other tests: another address, or a stop before statements. `aheadMs` is by how much the
   * wall clock of the machine is ahead of the one of the server; negative if it is behind. `inDatabase` has connections to another database.
   */
  constructor(place: Partial<PostgresPlace> = {}, aheadMs = 0, inDatabase = admin) {
    this.#place = place;
    this.#aheadMs = aheadMs;
    this.#admin = inDatabase;
    onTestFinished(async () => {
      await this.close();
      await this.#admin.query(`DROP SCHEMA IF EXISTS ${this.schema} CASCADE`);
    });
  }

  /** Opens the ledger as another process would. The server's time is the test's: the server is told before each call. */
  readonly open: OpenLedger = ({ clock, judge, random, holder }) => {
    const opening = this.#openLedger({ clock: this.#machineClock(clock), judge, random, holder });
    let closed: Promise<void> | undefined;
    const close = () => {
      closed ??= opening.then((ledger) => ledger.close());
      return closed;
    };
    const ledger = new Proxy({} as Ledger, {
      get: (_, method: keyof Ledger & string) => {
        if (method === 'close') return close;
        return async (...args: unknown[]) => {
          const opened = await opening;
          await this.#tell(clock);
          const given = method === 'settle' ? this.#byMachine(args) : args;
          return (opened[method] as (...args: unknown[]) => unknown)(...given);
        };
      },
    });
    this.#open.push(ledger);
    return ledger;
  };

  /** Returns the clock of the machine, which may differ from the one of the server. */
  #machineClock(clock: HeldClock): Clock {
    return {
      now: () => clock.in(this.#aheadMs),
      monotonicMs: () => clock.monotonicMs(),
      sleep: (ms, signal) => clock.sleep(ms, signal),
    };
  }

  /** Returns the arguments of `settle` with the time of the attempt as the clock of the machine showed it. */
  #byMachine([ref, attempt]: readonly unknown[]): unknown[] {
    const { startedAt, ...rest } = attempt as Attempt;
    return [ref, { ...rest, startedAt: new Date(startedAt.getTime() + this.#aheadMs) }];
  }

  /** Closes its ledgers, and with them their connections, of which the server has only some. */
  async close(): Promise<void> {
    for (const ledger of this.#open) await ledger.close();
  }

  /** Returns where the ledger is. */
  place(): PostgresPlace {
    const { schema } = this;
    return {
      url: requireDatabaseUrl(),
      schema,
      connections: 4,
      applicationName: schema,
      ...this.#place,
    };
  }

  /** Creates a user who may read everything in the schema and nothing else. Returns the user's name and the address for the user. */
  async addReader(): Promise<{ reader: string; url: string }> {
    const reader = uniqueName('reader');
    await this.query(`CREATE ROLE ${reader} LOGIN; GRANT USAGE ON SCHEMA ${this.schema} TO ${reader};
      GRANT SELECT ON ALL TABLES IN SCHEMA ${this.schema} TO ${reader}`);
    onTestFinished(async () => {
      await this.query(`DROP OWNED BY ${reader}; DROP ROLE ${reader}`);
    });
    return { reader, url: Object.assign(new URL(requireDatabaseUrl()), { username: reader }).href };
  }

  /** Runs SQL in the schema of the ledger. */
  async query<Row extends pg.QueryResultRow>(sql: string): Promise<Row[]> {
    const client = await this.#admin.connect();
    try {
      await client.query(`SET search_path = ${this.schema}`);
      return (await client.query<Row>(sql)).rows;
    } finally {
      client.release(true);
    }
  }

  /** Whether a connection of these ledgers waits for a lock. */
  async isWaiting(): Promise<boolean> {
    const rows = await this.query(
      `SELECT 1 FROM pg_stat_activity WHERE application_name = '${this.schema}' AND wait_event_type = 'Lock'`,
    );
    return rows.length > 0;
  }

  /** Returns a row for each way in which the tables contradict each other. */
  async contradictions(): Promise<object[]> {
    return this.query(CONTRADICTIONS);
  }

  async #openLedger(parts: Omit<Parameters<OpenLedger>[0], 'clock'> & { clock: Clock }): Promise<Ledger> {
    const ledger = await openPostgresLedger({ ...parts, ...this.place(), create: true });
    this.#created ??= this.#holdClock();
    await this.#created;
    return ledger;
  }

  async #holdClock(): Promise<void> {
    await this.query(`CREATE TABLE _test_clock (ms bigint NOT NULL); INSERT INTO _test_clock VALUES (0);
      CREATE OR REPLACE FUNCTION _now() RETURNS bigint LANGUAGE sql VOLATILE AS 'SELECT ms FROM _test_clock'`);
  }

  async #tell(clock: HeldClock): Promise<void> {
    const ms = Math.floor(clock.now().getTime());
    if (ms === this.#told) return;
    this.#told = ms;
    await this.#admin.query(`UPDATE ${this.schema}._test_clock SET ms = $1`, [ms]);
  }
}

/** Waits until a call has ended or waits for a lock. */
export async function endedOrWaits(store: PostgresStore, call: Promise<unknown>): Promise<void> {
  let ended = false;
  const end = () => {
    ended = true;
  };
  void call.then(end, end);
  await until('the call has ended or waits', async () => ended || (await store.isWaiting()));
}

/**
 * Opens ledgers in one schema of the shared PostgreSQL, which is dropped with the running test. `aheadMs` is as in `PostgresStore`. The clocks
 * differ by default, so that every part of the contract shows whether the ledger goes by the server's.
 */
export function postgresStore(aheadMs = HOUR): OpenLedger {
  return new PostgresStore({}, aheadMs).open;
}

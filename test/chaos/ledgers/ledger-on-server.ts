import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { DELIVERY_ID } from '../../../src/ledger-postgres/schema/delivery-sql.ts';
import { CONTRADICTIONS } from '../../ledger-postgres/contradictions.ts';
import { type PrivatePostgres, startPostgres } from '../../support/servers/private-postgres.ts';
import { SpellRecord } from '../spell-record.ts';
import { WatchedWire } from '../watched-wire.ts';
import { readRecord } from './ledger-record.ts';
import type { RunLedger } from './run-ledger.ts';

const SCHEMA = 'ledger';

/** A ledger in PostgreSQL, on a server that has nothing else. */
export class LedgerOnServer implements RunLedger {
  /** When the server could not be used. */
  readonly trouble = new SpellRecord();
  readonly #server: PrivatePostgres;

  private constructor(server: PrivatePostgres) {
    this.#server = server;
  }

  static async start(): Promise<LedgerOnServer> {
    return new LedgerOnServer(await startPostgres());
  }

  /** Opens the line of a machine to the server. */
  openLine(): Promise<WatchedWire> {
    return WatchedWire.to(this.#server.port);
  }

  /** Returns the section `ledger` of the configuration of the machine with this line. */
  section({ port }: WatchedWire): Readonly<Record<string, unknown>> {
    return { url: Object.assign(new URL(this.#server.url), { port }).href, schema: SCHEMA };
  }

  /** Ends the server immediately, as `pg_ctl stop -m immediate` does. */
  async crash(): Promise<void> {
    this.trouble.begin();
    await this.#server.crash();
  }

  async restart(): Promise<void> {
    await this.#server.restart();
    this.trouble.end();
  }

  freeze(): void {
    this.trouble.begin();
    this.#server.freeze();
  }

  thaw(): void {
    this.#server.thaw();
    this.trouble.end();
  }

  /** Ends every session of leadsync. */
  async endSessions(): Promise<void> {
    this.trouble.begin();
    await this.#rows(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'",
    ).finally(() => this.trouble.end());
  }

  /** Locks a table against everything for a time, as another client can. */
  async lock(table: string, seconds: number): Promise<void> {
    this.trouble.begin();
    const sql = `BEGIN; LOCK TABLE ${table} IN ACCESS EXCLUSIVE MODE; SELECT pg_sleep(${seconds}); COMMIT`;
    await this.#rows(sql).finally(() => this.trouble.end());
  }

  /** Makes the server usable again, whatever was done to it. */
  async heal(): Promise<void> {
    const { process } = this.#server;
    if (process.exitCode !== null || process.signalCode !== null) await this.restart();
    this.thaw();
  }

  async exists(): Promise<boolean> {
    const [{ there } = { there: false }] = await this.#rows<{ there: boolean }>(
      "SELECT to_regclass('_ledger') IS NOT NULL AS there",
    );
    return there;
  }

  read() {
    return readRecord({ rows: (sql) => this.#rows(sql), deliveryId: DELIVERY_ID });
  }

  async contradictions(): Promise<string[]> {
    const rows = await this.#rows<{ rule: string }>(CONTRADICTIONS);
    return [...Map.groupBy(rows, ({ rule }) => rule)].map(
      ([rule, all]) => `ledger: ${all.length} rows contradict "${rule}"`,
    );
  }

  async keep(folder: string): Promise<void> {
    const tables = await this.#rows<{ name: string }>(
      `SELECT relname AS name FROM pg_class WHERE relnamespace = '${SCHEMA}'::regnamespace AND relkind = 'r'`,
    );
    mkdirSync(join(folder, SCHEMA));
    for (const { name } of tables)
      writeFileSync(
        join(folder, SCHEMA, `${name}.json`),
        JSON.stringify(await this.#rows(`SELECT * FROM ${name}`), undefined, 1),
      );
  }

  close(): Promise<void> {
    return this.#server.close();
  }

  async #rows<Row>(sql: string): Promise<Row[]> {
    const client = new pg.Client({ connectionString: this.#server.url, options: `-c search_path=${SCHEMA}` });
    client.on('error', () => undefined); // the query fails as well
    await client.connect();
    try {
      return (await client.query(sql)).rows as Row[];
    } finally {
      await client.end();
    }
  }
}

import Database from 'better-sqlite3';
import pg from 'pg';
import { onTestFinished } from 'vitest';
import { copyAll } from '../../src/daemon/joints/mirror-ledger.ts';
import type { ListedItem } from '../../src/leads/listed-lead.ts';
import type { Outcome } from '../../src/leads/outcome.ts';
import { systemClock } from '../../src/platform/time/clock.ts';
import type { Mirror } from '../../src/sinks/mirror.ts';
import type { Sink } from '../../src/sinks/sink.ts';
import type { Event } from '../../src/telemetry/events.ts';
import { aSink, LedgerUnderTest } from '../ledger/ledger-under-test.ts';
import { mirrored } from '../ledger/mirrored.ts';
import { SqliteFile } from '../ledger/sqlite-store.ts';
import { openPostgres, type Database as Postgres, startDatabase } from '../sinks/postgres/database.ts';

const NEVER = new AbortController().signal;
const EVERYTHING = ['created', 'updated'] as const;

/** A row of either store, its values as text that is the same in both. */
export type Row = Readonly<Record<string, string | null>>;

/** A ledger, and a PostgreSQL sink of its own that it delivers to and is mirrored to; beside it the sink `crm`. */
export class TwoStores {
  readonly disk = new SqliteFile();
  readonly postgres: Postgres = startDatabase();
  readonly sink: Sink;
  readonly on: LedgerUnderTest;
  readonly events: Event[] = [];

  private constructor(raw: boolean) {
    const { url, schema } = this.postgres;
    this.sink = openPostgres({ url, schema, raw });
    this.on = new LedgerUnderTest(this.disk.open);
    onTestFinished(async () => {
      await this.sink.close();
      await this.postgres.close();
    });
  }

  /** @param raw whether PostgreSQL stores the JSON of every lead, as the ledger does */
  static async open({ raw = false } = {}): Promise<TwoStores> {
    const stores = new TwoStores(raw);
    await stores.on.declare(aSink('warehouse', { events: EVERYTHING }), aSink('crm', { events: EVERYTHING }));
    return stores;
  }

  get mirror(): Mirror {
    if (!this.sink.mirror) throw new Error('this sink does not mirror');
    return this.sink.mirror;
  }

  /** Lists leads, and brings them to PostgreSQL as a daemon would. */
  async list(items: readonly (ListedItem | number)[]): Promise<void> {
    await this.on.list(items);
    await this.deliver();
  }

  /** Delivers what PostgreSQL is owed. */
  async deliver(): Promise<void> {
    for (;;) {
      const { refs } = await this.on.claim('warehouse', { max: 100 });
      if (refs.length === 0) return;
      for (const ref of refs) {
        const { batch } = await this.on.begin(ref);
        await this.on.settle(ref, ...(await this.sink.deliver(batch, NEVER)));
      }
    }
  }

  /** Attempts at most so many of what `crm` is owed, one after another. */
  attempt(limit: number, outcome: Outcome): Promise<void> {
    return this.on.attemptSome('crm', limit, outcome);
  }

  async computeClientKeys(secret: string | undefined): Promise<void> {
    while (!(await this.on.ledger.computeClientKeys(secret)));
  }

  /** Brings PostgreSQL all that the ledger knows. */
  async bring(ledger = this.on.ledger): Promise<void> {
    const emit = (event: Event) => void this.events.push(event);
    await copyAll(
      this.mirror,
      { sink: 'warehouse', ledger: mirrored(ledger), clock: systemClock, emit, isBackground: false },
      NEVER,
    );
  }

  /** Keeps everybody else from writing to a table of PostgreSQL until the release. */
  async lock(table: string): Promise<{ release(): Promise<void> }> {
    const client = new pg.Client({ connectionString: this.postgres.url });
    await client.connect();
    await client.query('BEGIN');
    await client.query(`LOCK TABLE ${this.postgres.schema}.${table} IN EXCLUSIVE MODE`);
    return { release: () => client.end() };
  }

  inLedger(sql: string, values: readonly unknown[] = []): Row[] {
    const db = new Database(this.disk.file, { readonly: true });
    try {
      const rows = db
        .prepare(sql)
        .safeIntegers()
        .all(...values) as Record<string, unknown>[];
      return rows.map(comparable);
    } finally {
      db.close();
    }
  }

  async inPostgres(sql: string): Promise<Row[]> {
    return (await this.postgres.query(sql)).map(comparable);
  }
}

/** What the drivers make of a value, as text: times in ISO 8601, true as 1, JSON with its keys in order. */
export function comparable(row: Record<string, unknown>): Row {
  return Object.fromEntries(Object.entries(row).map(([name, value]) => [name, textOf(value)]));
}

function textOf(value: unknown): string | null {
  if (value === null || value === undefined) return null;
  if (value instanceof Date) return value.toISOString();
  if (typeof value === 'boolean') return value ? '1' : '0';
  if (typeof value === 'object') return JSON.stringify(inOrder(value));
  return inOrderIfJson(String(value));
}

function inOrderIfJson(text: string): string {
  return /^[[{]/.test(text) ? JSON.stringify(inOrder(JSON.parse(text))) : text;
}

function inOrder(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inOrder);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([name, one]) => [name, inOrder(one)]));
}

import type Database from 'better-sqlite3';
import type { LeadEvent } from '../leads/delivery.ts';
import { HEALTHY, type SinkHealth } from '../leads/sink-health.ts';
import type { DeclaredSink } from './ledger.ts';

/** A sink as a row. */
export interface SinkRow {
  readonly sinkNo: number;
  readonly name: string;
  readonly active: boolean;
  readonly events: readonly LeadEvent[];
  readonly backfill: boolean;
  readonly owedThrough: number;
  readonly backfillTo: number;
  readonly health: SinkHealth;
}

interface RawRow {
  sink_no: number;
  sink: string;
  active: number;
  events: string;
  backfill: number;
  owed_through: number;
  backfill_to: number;
  health: string;
}

/** Reads and writes the sinks' rows: which there are, and how each is doing. */
export class SinkRows {
  readonly #get: Database.Statement<[string], RawRow>;
  readonly #all: Database.Statement<[], RawRow>;
  readonly #insert: Database.Statement;
  readonly #redeclare: Database.Statement;
  readonly #setHealth: Database.Statement<[string, number]>;
  readonly #setProgress: Database.Statement<[number, number]>;
  readonly #newestVersion: Database.Statement<[], number>;

  constructor(db: Database.Database) {
    this.#get = db.prepare('SELECT * FROM _sinks WHERE sink = ?');
    this.#all = db.prepare('SELECT * FROM _sinks ORDER BY sink_no');
    this.#insert = db.prepare(
      'INSERT INTO _sinks (sink, active, events, backfill, owed_through, backfill_to, health) VALUES (?, 1, ?, ?, 0, ?, ?)',
    );
    this.#redeclare = db.prepare(
      'UPDATE _sinks SET active = ?, events = ?, backfill = ?, owed_through = ?, backfill_to = ? WHERE sink_no = ?',
    );
    this.#setHealth = db.prepare('UPDATE _sinks SET health = ? WHERE sink_no = ?');
    this.#setProgress = db.prepare('UPDATE _sinks SET owed_through = ? WHERE sink_no = ?');
    this.#newestVersion = db
      .prepare<[], number>('SELECT coalesce(max(version_no), 0) FROM _versions')
      .pluck();
  }

  all(): SinkRow[] {
    return this.#all.all().map(toSinkRow);
  }

  get(name: string): SinkRow | undefined {
    const row = this.#get.get(name);
    return row && toSinkRow(row);
  }

  setHealth(sinkNo: number, health: SinkHealth): void {
    this.#setHealth.run(encodeHealth(health), sinkNo);
  }

  setProgress(sinkNo: number, owedThrough: number): void {
    this.#setProgress.run(owedThrough, sinkNo);
  }

  /** Makes the active sinks exactly these. What was listed while a sink was not active becomes its backfill. */
  declare(sinks: readonly DeclaredSink[]): void {
    const newest = this.#newestVersion.get() ?? 0;
    const known = new Map(this.all().map((row) => [row.name, row]));
    for (const sink of sinks) {
      const row = known.get(sink.name);
      known.delete(sink.name);
      if (!row)
        this.#insert.run(sink.name, sink.events.join(), Number(sink.backfill), newest, encodeHealth(HEALTHY));
      else {
        const backfillTo = row.active ? row.backfillTo : newest;
        this.#redeclare.run(
          1,
          sink.events.join(),
          Number(sink.backfill),
          row.owedThrough,
          backfillTo,
          row.sinkNo,
        );
      }
    }
    for (const row of known.values()) if (row.active) this.#retire(row, newest);
  }

  #retire(row: SinkRow, newest: number): void {
    // A backfill that was not finished goes on from where it stood when the sink is back.
    const owedThrough = row.owedThrough < row.backfillTo ? row.owedThrough : newest;
    this.#redeclare.run(0, row.events.join(), Number(row.backfill), owedThrough, newest, row.sinkNo);
  }
}

function toSinkRow(row: RawRow): SinkRow {
  return {
    sinkNo: row.sink_no,
    name: row.sink,
    active: row.active === 1,
    events: row.events.split(',') as LeadEvent[],
    backfill: row.backfill === 1,
    owedThrough: row.owed_through,
    backfillTo: row.backfill_to,
    health: decodeHealth(row.health),
  };
}

/** Dates are kept as milliseconds since 1970; the views read them. */
function encodeHealth(health: SinkHealth): string {
  return JSON.stringify(health, function (this: Record<string, unknown>, key) {
    const value = this[key];
    return value instanceof Date ? value.getTime() : value;
  });
}

type StoredHealth = { [Key in keyof SinkHealth]?: Date extends SinkHealth[Key] ? number : SinkHealth[Key] };

function decodeHealth(text: string): SinkHealth {
  const stored: StoredHealth = JSON.parse(text);
  const date = (ms: number | undefined) => (ms === undefined ? undefined : new Date(ms));
  return {
    ...HEALTHY,
    failures: stored.failures ?? 0,
    refusals: stored.refusals ?? 0,
    probes: stored.probes ?? 0,
    heldReason: stored.heldReason,
    pausedReason: stored.pausedReason,
    refusingSince: date(stored.refusingSince),
    heldSince: date(stored.heldSince),
    probeAt: date(stored.probeAt),
    lastDeliveredAt: date(stored.lastDeliveredAt),
    pausedSince: date(stored.pausedSince),
  };
}

import type Database from 'better-sqlite3';
import type { DeliveryState, LeadEvent } from '../../leads/delivery.ts';
import { HEALTHY, type SinkHealth } from '../../leads/sink-health.ts';
import { type DeclaredSink, isNameTaken } from '../contract/declaration.ts';
import {
  decodeHealth,
  encodeHealth,
  freeNameInIds,
  nameTaken,
  type SinkRow,
} from '../rules/delivering/sink-row.ts';
import type { WriteBehind } from './transactions.ts';

interface RawRow {
  sink_no: number;
  sink: string;
  active: number;
  events: string;
  backfill: number;
  owed_through: number;
  backfill_to: number;
  health: string;
  pending: number;
  delivered: number;
  dead: number;
  skipped: number;
  named: string | null;
  config: string | null;
}

/** The row of a sink that was read in the open transaction. */
interface OpenRow {
  row: SinkRow;
  changed: boolean;
}

/**
 * Reads and writes the rows of sinks, with their health and counts. Inside a transaction, reads each row once and writes it once, because
 * no other connection can change the row meanwhile.
 */
export class SinkRows implements WriteBehind {
  readonly #db: Database.Database;
  readonly #open = new Map<string, OpenRow>();
  readonly #get: Database.Statement<[string], RawRow>;
  readonly #all: Database.Statement<[], RawRow>;
  readonly #insert: Database.Statement;
  readonly #redeclare: Database.Statement;
  readonly #save: Database.Statement<[string, number, number, number, number, number, number]>;
  readonly #move: Database.Statement<[{ name: string; place: string; now: number }]>;
  readonly #addMapping: Database.Statement<[{ text: string }]>;
  readonly #map: Database.Statement<[string | null, string]>;
  readonly #rename: Database.Statement<[string, string]>;
  readonly #namesInIds: Database.Statement<[], string>;
  readonly #newestVersion: Database.Statement<[], number>;

  constructor(db: Database.Database) {
    this.#db = db;
    this.#get = db.prepare('SELECT * FROM _sinks WHERE sink = ?');
    this.#all = db.prepare('SELECT * FROM _sinks ORDER BY sink_no');
    this.#insert = db.prepare(
      'INSERT INTO _sinks (sink, active, events, backfill, owed_through, backfill_to, health, named, config) VALUES (?, 1, ?, ?, 0, ?, ?, ?, ?)',
    );
    this.#redeclare = db.prepare(
      'UPDATE _sinks SET active = ?, events = ?, backfill = ?, owed_through = ?, backfill_to = ?, config = ? WHERE sink_no = ?',
    );
    this.#save = db.prepare(
      'UPDATE _sinks SET health = ?, owed_through = ?, pending = ?, delivered = ?, dead = ?, skipped = ? WHERE sink_no = ?',
    );
    this.#move = db.prepare(
      `UPDATE _sinks SET place = :place, health = iif(place <> :place, json_set(health, '$.renewedAt', :now), health), former = iif(place <> :place,
         json_insert(former, '$[#]', json_array(place, coalesce(json_extract(former, '$[#-1][2]'), 0), :now)), former) WHERE sink = :name`,
    );
    this.#addMapping = db.prepare(
      'INSERT INTO _mappings (text) SELECT :text WHERE NOT EXISTS (SELECT 1 FROM _mappings WHERE text = :text)',
    );
    this.#map = db.prepare(
      'UPDATE _sinks SET mapping_no = (SELECT mapping_no FROM _mappings WHERE text = ?) WHERE sink = ?',
    );
    this.#rename = db.prepare('UPDATE _sinks SET named = coalesce(named, sink), sink = ? WHERE sink = ?');
    this.#namesInIds = db.prepare<[], string>('SELECT coalesce(named, sink) FROM _sinks').pluck();
    this.#newestVersion = db
      .prepare<[], number>('SELECT coalesce(max(version_no), 0) FROM _versions')
      .pluck();
  }

  all(): SinkRow[] {
    this.flush();
    return this.#all.all().map(toSinkRow);
  }

  get(name: string): SinkRow | undefined {
    const open = this.#open.get(name);
    if (open) return open.row;
    const raw = this.#get.get(name);
    const row = raw && toSinkRow(raw);
    if (row && this.#db.inTransaction) this.#open.set(name, { row, changed: false });
    return row;
  }

  setHealth(name: string, health: SinkHealth): void {
    this.#change(name, (row) => ({ ...row, health }));
  }

  /** Adds to the number of deliveries in a state. `deliveries` is negative if deliveries left the state. */
  count(name: string, state: DeliveryState, deliveries: number): void {
    if (deliveries === 0) return;
    this.#change(name, (row) => ({
      ...row,
      counts: { ...row.counts, [state]: row.counts[state] + deliveries },
    }));
  }

  #change(name: string, change: (row: SinkRow) => SinkRow): void {
    const row = this.get(name);
    if (row) this.#open.set(name, { row: change(row), changed: true });
  }

  flush(): void {
    for (const open of this.#open.values()) {
      if (!open.changed) continue;
      const { health, owedThrough, counts, sinkNo } = open.row;
      const { pending, delivered, dead, skipped } = counts;
      this.#save.run(encodeHealth(health), owedThrough, pending, delivered, dead, skipped, sinkNo);
      open.changed = false;
    }
  }

  forget(): void {
    this.#open.clear();
  }

  setProgress(name: string, owedThrough: number): void {
    this.#change(name, (row) => ({ ...row, owedThrough }));
  }

  /**
   * Makes exactly these sinks active. Leads that were listed while a sink was not active become the backfill of that sink.
   * @throws LedgerError `name-taken` if a sink cannot be renamed
   */
  declare(sinks: readonly DeclaredSink[], now: number): void {
    const newest = this.#newestVersion.get() ?? 0;
    for (const sink of sinks) this.#renameFormer(sink, sinks);
    const known = new Map(this.all().map((row) => [row.name, row]));
    for (const sink of sinks) {
      const row = known.get(sink.name);
      known.delete(sink.name);
      if (!row)
        this.#insert.run(
          sink.name,
          sink.events.join(),
          Number(sink.backfill),
          newest,
          encodeHealth(HEALTHY),
          this.#nameInIds(sink.name),
          sink.config ?? null,
        );
      else {
        const backfillTo = row.active ? row.backfillTo : newest;
        this.#redeclare.run(
          1,
          sink.events.join(),
          Number(sink.backfill),
          row.owedThrough,
          backfillTo,
          sink.config ?? row.config ?? null,
          row.sinkNo,
        );
      }
    }
    for (const row of known.values()) if (row.active) this.#retire(row, newest);
    for (const { name, mapping } of sinks) {
      if (mapping !== undefined) this.#addMapping.run({ text: mapping });
      this.#map.run(mapping ?? null, name);
    }
    for (const { name, place } of sinks) if (place !== undefined) this.#move.run({ name, place, now });
    this.forget();
  }

  #retire(row: SinkRow, newest: number): void {
    // If the sink is declared again, an unfinished backfill continues where it stopped.
    const owedThrough = row.owedThrough < row.backfillTo ? row.owedThrough : newest;
    const { events, backfill, config = null, sinkNo } = row;
    this.#redeclare.run(0, events.join(), Number(backfill), owedThrough, newest, config, sinkNo);
  }

  /**
   * Renames a sink, unless its old name is still declared or nothing is left to rename (see `isNameTaken`). The ids of its deliveries keep
   * the old name, because receivers remember these ids.
   * @throws LedgerError `name-taken` if another sink has the new name. The destination would otherwise continue with the deliveries of that
   * sink, and receive leads again that it received under the old name.
   */
  #renameFormer({ name, formerly }: DeclaredSink, all: readonly DeclaredSink[]): void {
    if (formerly === undefined || all.some((sink) => sink.name === formerly)) return;
    const taken = this.#get.get(name);
    const former = this.#get.get(formerly);
    if (taken === undefined) this.#rename.run(name, formerly);
    else if (former && isNameTaken(toSinkRow(taken), toSinkRow(former))) throw nameTaken(name, formerly);
  }

  #nameInIds(name: string): string | null {
    return freeNameInIds(name, this.#namesInIds.all());
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
    counts: { pending: row.pending, delivered: row.delivered, dead: row.dead, skipped: row.skipped },
    nameInIds: row.named ?? row.sink,
    config: row.config ?? undefined,
  };
}

import type Database from 'better-sqlite3';
import { parse } from 'csv-parse/sync';
import type { SinkSetup } from '../process.ts';
import type { World } from '../world.ts';
import { Violation } from './violation.ts';

/** Number of lost attempts before a batch is split, and its second half becomes another file. */
const LOST_BEFORE_SPLIT = 3;

/** A delivery as the ledger's public view shows it. */
interface Row {
  readonly delivery_id: string;
  readonly lead_id: number;
  readonly lead_version: number;
  readonly sink: string;
  readonly event: string;
  readonly state: 'pending' | 'delivered' | 'dead' | 'skipped';
  readonly reason: string | null;
  readonly replay: number;
}

interface Version {
  readonly lead_id: number;
  readonly version: number;
  readonly is_current: number;
  readonly hash: string;
}

interface Counted {
  readonly sink: string;
  readonly pending: number;
  readonly dead: number;
}

interface Current {
  readonly id: number;
  readonly hash: string;
}

/** What the ledger contains. */
interface Held {
  readonly deliveries: readonly Row[];
  readonly versions: readonly Version[];
  readonly counted: readonly Counted[];
}

/** What keeps a run from coming to rest. */
export interface Unrest {
  readonly pending: number;
  /** Replays that were requested and are not yet owed completely. */
  readonly replays: number;
  /** Sinks that wait for an operator to resume them. */
  readonly paused: readonly string[];
  /** Number of leads whose current content is not in the ledger. */
  readonly unread: number;
}

/** Checks a run from outside, repeatedly. */
export class Lookout {
  readonly #world: World;
  readonly #pending: Database.Statement<[], number>;
  readonly #replays: Database.Statement<[], number>;
  readonly #paused: Database.Statement<[], string>;
  readonly #current: Database.Statement<[], Current>;

  constructor(world: World) {
    const db = world.store.observer;
    this.#world = world;
    this.#pending = db.prepare<[], number>('SELECT coalesce(sum(pending), 0) FROM v_sink_health').pluck();
    this.#replays = db.prepare<[], number>('SELECT count(*) FROM _replays WHERE through < bound').pluck();
    this.#paused = db
      .prepare<[], string>('SELECT sink FROM v_sink_health WHERE paused_since IS NOT NULL')
      .pluck();
    this.#current = db.prepare('SELECT id, _leadsync_hash AS hash FROM leads');
  }

  look(): Unrest {
    const current = new Map(this.#current.all().map(({ id, hash }) => [BigInt(id), hash]));
    return {
      pending: this.#pending.get() ?? 0,
      replays: this.#replays.get() ?? 0,
      paused: this.#paused.all(),
      unread: [...this.#world.service.shown()].filter(([id, hash]) => current.get(id) !== hash).length,
    };
  }
}

/**
 * The one oracle, at the end of a run: for every sink, every listed lead is delivered, or dead or skipped with a reason, and the last
 * content at each sink is the lead's current one. @throws Violation
 */
export function judgeEnd(world: World): void {
  if (world.witness.violation) throw world.witness.violation;
  const [forgotten] = world.witness.neverRevived;
  if (forgotten !== undefined) throw new Violation(forgotten);
  const held = readAll(world.store.observer);
  checkRecorded(world, held);
  for (const sink of world.scenario.sinks) {
    checkOwed(sink, held);
    checkCounts(sink, held);
    checkArrived(world, sink, held);
    if (sink.type === 'csv') checkFiles(world, sink, held);
  }
}

function readAll(db: Database.Database): Held {
  const broken = db.pragma('foreign_key_check') as unknown[];
  if (broken.length > 0) throw new Violation('the ledger has rows that refer to nothing');
  const deliveries = db.prepare<[], Row>('SELECT * FROM deliveries').all();
  const versions = db
    .prepare<[], Version>('SELECT lead_id, version, is_current, _leadsync_hash AS hash FROM lead_versions')
    .all();
  const counted = db.prepare<[], Counted>('SELECT sink, pending, dead FROM v_sink_health').all();
  return { deliveries, versions, counted };
}

function checkRecorded(world: World, { versions }: Held): void {
  const known = new Set(versions.map(({ lead_id, hash }) => `${lead_id} ${hash}`));
  for (const { id, hash } of world.witness.contents)
    if (!known.has(`${id} ${hash}`)) throw new Violation(`lead ${id} was recorded, and is not in the ledger`);
}

/** Whether a delivery replaced an older one of its lead, with a newer content or as a replay. */
function takesPlaceOf(newer: Row, older: Row): boolean {
  return (
    newer.lead_id === older.lead_id &&
    newer.state !== 'pending' &&
    (newer.lead_version > older.lead_version ||
      (newer.lead_version === older.lead_version && newer.replay > 0))
  );
}

/**
 * Whether the sink must be owed the lead's current content. A sink without updates must be until it has got the lead; the witness checks
 * that the content was the newest when it was sent.
 */
function wantsNewest(sink: SinkSetup, ofLead: readonly Row[]): boolean {
  if (sink.events.includes('updated')) return true;
  return (
    !ofLead.some(({ state }) => state === 'delivered') && ofLead.some(({ state }) => state !== 'skipped')
  );
}

/** Checks that every recorded lead is owed, and that nothing is pending any more. */
function checkOwed(sink: SinkSetup, { deliveries, versions }: Held): void {
  const rows = deliveries.filter((row) => row.sink === sink.name);
  const owed = new Set(rows.map((row) => `${row.lead_id} ${row.lead_version}`));
  const leads = Map.groupBy(rows, (row) => row.lead_id);
  for (const { lead_id, version, is_current } of versions) {
    const ofLead = leads.get(lead_id);
    if (!ofLead) throw new Violation(`lead ${lead_id} was seen, and is not owed to ${sink.name}`);
    if (is_current === 1 && wantsNewest(sink, ofLead) && !owed.has(`${lead_id} ${version}`))
      throw new Violation(`version ${version} of lead ${lead_id} was seen, and is not owed to ${sink.name}`);
  }
  for (const row of rows) {
    const { state, reason, delivery_id } = row;
    if (state === 'pending') throw new Violation(`${delivery_id} is still pending`);
    if ((state === 'dead' || state === 'skipped') && !reason)
      throw new Violation(`${delivery_id} is ${state} without a reason`);
    if (state === 'skipped' && sink.backfill && !rows.some((other) => takesPlaceOf(other, row)))
      throw new Violation(`${delivery_id} was skipped, although everything is wanted`);
  }
}

/** Checks that the running counts equal the rows. */
function checkCounts(sink: SinkSetup, { deliveries, counted }: Held): void {
  const count = counted.find((one) => one.sink === sink.name);
  for (const state of ['pending', 'dead'] as const) {
    const there = deliveries.filter((row) => row.sink === sink.name && row.state === state).length;
    if (count?.[state] !== there)
      throw new Violation(
        `${sink.name} has ${there} deliveries that are ${state}, and ${count?.[state]} are counted`,
      );
  }
}

function checkArrived(world: World, sink: SinkSetup, { deliveries }: Held): void {
  const rows = deliveries.filter((row) => row.sink === sink.name);
  const newest = new Map<number, number>();
  for (const row of rows) {
    if (row.state !== 'delivered') continue;
    if (world.witness.arrivalsOf(row.delivery_id).length === 0)
      throw new Violation(`${row.delivery_id} counts as delivered, and did not arrive`);
    newest.set(row.lead_id, Math.max(newest.get(row.lead_id) ?? 0, row.lead_version));
  }
  for (const [lead, arrival] of world.witness.lastOf(sink.name)) {
    const { version } = arrival.delivery;
    const late = arrival.attempt.excuse !== undefined;
    if (version < (newest.get(Number(lead)) ?? 0) && !late)
      throw new Violation(
        `${sink.name} has version ${version} of lead ${lead} last, and was brought a newer one before`,
      );
  }
}

/** Checks that a reader of the folders finds only complete files, at any time. @throws Violation */
export function checkWhole(world: World): void {
  for (const { type, name } of world.scenario.sinks) if (type === 'csv') filesOf(world, name);
}

/** Returns what a reader sees in a folder: each file's rows, by its name. */
function filesOf(world: World, sink: string): [string, Record<string, string>[]][] {
  return [...world.disk.filesIn(`/drop/${sink}`)]
    .filter(([name]) => !name.startsWith('.'))
    .map(([name, content]) => [name, readCsv(name, content)]);
}

/** Checks that every file is complete, and that every delivered lead is in a file. */
function checkFiles(world: World, sink: SinkSetup, { deliveries }: Held): void {
  const inFiles = new Map<string, string>();
  for (const [name, rows] of filesOf(world, sink.name)) {
    for (const row of rows) {
      const id = row['_leadsync_delivery_id'] ?? '';
      const other = inFiles.get(id);
      const mayBeSplit = world.processes.deaths + world.witness.lostAttemptsOf(id) >= LOST_BEFORE_SPLIT;
      if (other && !mayBeSplit) throw new Violation(`${id} is in two files, ${other} and ${name}`);
      inFiles.set(id, name);
    }
  }
  for (const row of deliveries)
    if (row.sink === sink.name && row.state === 'delivered' && !inFiles.has(row.delivery_id))
      throw new Violation(`${row.delivery_id} counts as delivered, and is in no file`);
}

/** The parsed files: a file is written only once. */
const read = new WeakMap<Buffer, Record<string, string>[]>();

function readCsv(name: string, content: Buffer): Record<string, string>[] {
  const known = read.get(content);
  if (known) return known;
  try {
    const rows: Record<string, string>[] = parse(content, { columns: true });
    if (rows.length === 0 || !content.toString().endsWith('\n')) throw new Error('it is cut short');
    read.set(content, rows);
    return rows;
  } catch (error) {
    throw new Violation(`the file ${name} is not whole: ${String(error)}`);
  }
}

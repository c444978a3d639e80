import type Database from 'better-sqlite3';
import type { LeadId } from '../../leads/lead.ts';
import type { Clock } from '../../platform/time/clock.ts';
import type { LeadChoice, ReplayTotals } from '../contract/ledger-control.ts';
import type { SinkRows } from '../database/sink-rows.ts';
import type { Owing } from '../delivering/owing.ts';
import { HAS_CONTENT } from '../privacy/retaining.ts';
import { filterSql } from '../queries/filter-sql.ts';
import { MEETS_RESULT } from '../queries/result-filter.ts';
import {
  type ReplaySelection,
  type StoredReplay,
  selectionFor,
  selectionOf,
} from '../rules/control/replay-selection.ts';
import type { SinkRow } from '../rules/delivering/sink-row.ts';
import type { Period } from '../rules/queries/period.ts';
import { type ResultParameters, resultParameters } from '../rules/queries/result-parameters.ts';

/** Maximum numbers of leads that a step records as owed and of versions that a step reads, so that it holds the write lock for only a few ms. */
const MAX_OWED_PER_STEP = 300;
const MAX_READ_PER_STEP = 3_000;
/** Maximum number of ids that a step looks up. */
const IDS_PER_STEP = 300;
/** Maximum number of leads that a count names. */
export const SAMPLE = 10;
/** Time without a step after which a replay counts as left unfinished by a killed process, in ms. */
const ABANDONED_MS = 10_000;

/** The leads of a selection that one step handles, and the version up to which the selection is done after that step. */
interface Part {
  readonly leads: readonly CurrentLead[];
  readonly through: number;
}

/**
 * The leads that were found for some ids, as the numbers of their current versions, and the ids that belong neither to a lead nor to a delivery to
 * the sink.
 */
interface LeadsToReplay {
  readonly versions: readonly number[];
  readonly unmatched: readonly string[];
  /** The number of ids before the next part; undefined at the end. */
  readonly next: number | undefined;
}

interface ReplayRow extends StoredReplay {
  replay_no: number;
  sink: string;
  asked_at: number;
  through: number;
  bound: number;
  owed: number;
}

interface CurrentLead {
  at: number;
  version_no: number;
  source: string;
  id: string;
}

/**
 * Records leads as owed again. First stores the request and then carries it out in steps, so that other writers wait only briefly and another
 * process can finish a replay whose process was killed. Every method runs inside its caller's transaction.
 */
export class Replaying {
  readonly #db: Database.Database;
  readonly #clock: Clock;
  readonly #rows: SinkRows;
  readonly #owing: Owing;
  readonly #sql;
  /** The statements of `#ofDelivery`, by SQL text: one for each set of conditions. */
  readonly #ofDeliverySql = new Map<string, Database.Statement<(string | number | bigint)[], number>>();

  constructor(db: Database.Database, clock: Clock, rows: SinkRows, owing: Owing) {
    this.#db = db;
    this.#clock = clock;
    this.#rows = rows;
    this.#owing = owing;
    this.#sql = prepare(db);
  }

  /** Finds the leads for the next ids of a choice, after the first `after` ids. Finds nothing if the choice has no ids. Only reads. */
  find(name: string, choice: LeadChoice, after: number): LeadsToReplay {
    const { source, lead, ids = { leads: lead === undefined ? [] : [lead], deliveries: [] } } = choice;
    const isMeant = (id: LeadId) => lead === undefined || id === lead;
    const part = [...ids.leads, ...ids.deliveries].slice(after, after + IDS_PER_STEP);
    const found = part.map((id) => {
      if (typeof id === 'string') return [id, this.#ofDelivery(name, id, choice)] as const;
      return [String(id), isMeant(id) ? this.#sql.ofLead.all(id, source ?? null) : []] as const;
    });
    return {
      versions: found.flatMap(([, numbers]) => numbers),
      unmatched: found.filter(([, numbers]) => numbers.length === 0).map(([id]) => id),
      next: part.length < IDS_PER_STEP ? undefined : after + IDS_PER_STEP,
    };
  }

  /**
   * Stores a replay of all leads that match now. Returns its number, or undefined if there is no such sink.
   * @param found the versions of the leads with the choice's ids; undefined if the choice has none
   */
  ask(name: string, choice: LeadChoice, found: readonly number[] | undefined): number | undefined {
    const sink = this.#rows.get(name);
    if (!sink) return undefined;
    const selection = selectionFor(choice, found);
    const { source, since, until, result, versions } = selection;
    const chosen = result || versions ? JSON.stringify({ result, versions }) : null;
    const [now, leftOut] = [this.#clock.now().getTime(), selection.leftOut ? 1 : 0] as const;
    const asked = { sink: sink.sinkNo, now, leftOut, source, since, until, chosen } as const;
    return Number(this.#sql.ask.run(asked).lastInsertRowid);
  }

  /** Carries out the next step of a replay. `owed` is the total of all its steps. */
  step(replayNo: number): { owed: number; done: boolean } {
    const replay = this.#sql.get.get(replayNo);
    const sink = replay && this.#rows.get(replay.sink);
    if (!sink || replay.through >= replay.bound) return { owed: replay?.owed ?? 0, done: true };
    const selection = selectionOf(replay);
    const { leads, through } = this.#part(sink, selection, replay.through, replay.bound);
    const now = this.#clock.now().getTime();
    const isOwed = ({ version_no: versionNo, source, id }: CurrentLead) => {
      const lead = { versionNo, source, id: BigInt(id) };
      return selection.leftOut
        ? this.#owing.newest.oweLeftOut(sink, lead, replay.asked_at, now)
        : this.#owing.replay(sink, lead, replay.asked_at, now);
    };
    const owed = replay.owed + leads.filter(isOwed).length;
    this.#sql.progress.run(through, owed, now, replayNo);
    return { owed, done: through >= replay.bound };
  }

  /**
   * Counts the leads of one step of a replay that is not requested yet. `found` is the same as for `ask`. `after` is the `next` of the
   * previous step, and 0 for the first step. `next` is undefined after the last step. Only reads.
   */
  count(
    name: string,
    choice: LeadChoice,
    found: readonly number[] | undefined,
    after: number,
  ): Omit<ReplayTotals, 'unmatched'> & { readonly next: number | undefined } {
    const sink = this.#rows.get(name);
    if (!sink) return { leads: 0, sources: [], sample: [], next: undefined };
    const bound = this.#sql.newest.get() ?? 0;
    const selection = selectionFor(choice, found);
    const { leads, through } = this.#part(sink, selection, after, bound);
    const matching = leads.filter(({ version_no: versionNo, source, id }) => {
      const lead = { versionNo, source, id: BigInt(id) };
      return !selection.leftOut || this.#owing.newest.leftOutEvent(sink, lead) !== undefined;
    });
    return {
      leads: matching.length,
      sources: [...new Set(matching.map(({ source }) => source))],
      sample: matching.slice(0, SAMPLE).map(({ source, id }) => ({ source, leadId: BigInt(id) })),
      next: through < bound ? through : undefined,
    };
  }

  /** Returns the numbers of unfinished replays whose processes were killed. */
  abandoned(): number[] {
    return this.#sql.abandoned.all({ now: this.#clock.now().getTime(), ms: ABANDONED_MS });
  }

  #part({ sinkNo }: SinkRow, selection: ReplaySelection, after: number, bound: number): Part {
    const { source, since, until, result, versions } = selection;
    const matching = {
      source,
      since,
      until,
      sink: sinkNo,
      asks: result ? 1 : 0,
      ...(result ?? NO_RESULT),
    } as const;
    const to = versions ? bound : Math.min(after + MAX_READ_PER_STEP, bound);
    const range = { ...matching, after, to, bound, limit: MAX_OWED_PER_STEP };
    const leads = versions
      ? this.#sql.listed.all({ ...range, versions: JSON.stringify(versions) })
      : this.#sql.between.all(range);
    return { leads, through: leads.length < MAX_OWED_PER_STEP ? to : (leads.at(-1)?.at ?? to) };
  }

  /** Returns the current version of the lead to which a delivery to the sink belongs; empty if there is no such delivery. */
  #ofDelivery(name: string, delivery: string, { source, lead }: LeadChoice): number[] {
    const { where, values } = filterSql({ delivery, sink: name, source, lead });
    const sql = `SELECT l.version_no FROM _versions v CROSS JOIN _deliveries d ON d.version_no = v.version_no
      CROSS JOIN _sinks s ON s.sink_no = d.sink_no CROSS JOIN _leads l ON l.source = v.source AND l.id = v.id WHERE ${where}`;
    const statement =
      this.#ofDeliverySql.get(sql) ?? this.#db.prepare<(string | number | bigint)[], number>(sql).pluck();
    this.#ofDeliverySql.set(sql, statement);
    return statement.all(...values);
  }
}

const NO_RESULT = resultParameters({});

/**
 * Whether the lead has content, and was first seen or changed in the period. A destination that lost its data from that period lacks both
 * kinds of leads. If `asks` is set, one of the lead's deliveries to the sink must also meet the conditions in `MEETS_RESULT`.
 */
const MATCHES = `${HAS_CONTENT} AND (:source IS NULL OR v.source = :source)
  AND (v.first_seen_at >= :since AND v.first_seen_at < :until OR v.valid_from >= :since AND v.valid_from < :until)
  AND (:asks = 0 OR EXISTS (SELECT 1 FROM _versions w CROSS JOIN _deliveries d ON d.version_no = w.version_no
    WHERE w.source = v.source AND w.id = v.id AND d.sink_no = :sink AND d.event <> 'erased' AND ${MEETS_RESULT}))`;

type Matching = Period & ResultParameters & { source: string | null; sink: number; asks: 0 | 1 };
type Range = Matching & { after: number; to: number; bound: number; limit: number };

function prepare(db: Database.Database) {
  return {
    newest: db.prepare<[], number | null>('SELECT max(version_no) FROM _versions').pluck(),
    ofLead: db
      .prepare<[bigint, string | null], number>(
        `SELECT l.version_no FROM _sources s CROSS JOIN _leads l ON l.source = s.source AND l.id = ?
         WHERE s.source = coalesce(?, s.source)`,
      )
      .pluck(),
    ask: db.prepare<
      [Period & { sink: number; now: number; leftOut: 0 | 1; source: string | null; chosen: string | null }]
    >(
      `INSERT INTO _replays (sink_no, asked_at, touched_at, left_out, source, since, until, chosen, bound)
       VALUES (:sink, :now, :now, :leftOut, :source, :since, :until, :chosen, (SELECT coalesce(max(version_no), 0) FROM _versions))`,
    ),
    get: db.prepare<[number], ReplayRow>(
      'SELECT r.*, s.sink FROM _replays r JOIN _sinks s ON s.sink_no = r.sink_no WHERE r.replay_no = ?',
    ),
    between: db.prepare<[Range], CurrentLead>(
      // For each lead, the version that was current when the replay was requested, or a newer version that was recorded since.
      `SELECT v.version_no AS at, l.version_no, v.source, CAST(v.id AS TEXT) AS id FROM _versions v
       JOIN _leads l ON l.source = v.source AND l.id = v.id
       WHERE v.version_no > :after AND v.version_no <= :to AND (l.version_no = v.version_no OR l.version_no > :bound
         AND v.version_no = (SELECT max(o.version_no) FROM _versions o WHERE o.source = v.source AND o.id = v.id AND o.version_no <= :bound))
       AND ${MATCHES}
       ORDER BY v.version_no LIMIT :limit`,
    ),
    listed: db.prepare<[Range & { versions: string }], CurrentLead>(
      `SELECT v.version_no AS at, l.version_no, v.source, CAST(v.id AS TEXT) AS id FROM json_each(:versions) j
       CROSS JOIN _versions v ON v.version_no = j.value CROSS JOIN _leads l ON l.source = v.source AND l.id = v.id
       WHERE j.value > :after AND ${MATCHES} ORDER BY v.version_no LIMIT :limit`,
    ),
    progress: db.prepare<[number, number, number, number]>(
      'UPDATE _replays SET through = ?, owed = ?, touched_at = ? WHERE replay_no = ?',
    ),
    abandoned: db
      .prepare<[{ now: number; ms: number }], number>(
        // abs(), because a time in the future also belongs to a killed process: the clock has been set back since its last step.
        'SELECT replay_no FROM _replays WHERE through < bound AND abs(:now - touched_at) > :ms',
      )
      .pluck(),
  };
}

import type Database from 'better-sqlite3';
import type { LeadId } from '../../leads/lead.ts';
import type { Clock } from '../../platform/time/clock.ts';
import type { LeadChoice } from '../contract/ledger-control.ts';
import type { SinkRow, SinkRows } from '../database/sink-rows.ts';
import { HAS_CONTENT } from '../privacy/retaining.ts';
import { type Period, periodOf } from '../queries/period.ts';
import type { Owing } from './owing.ts';

/** Maximum leads that a step owes, and maximum versions that it reads, so that it holds the write lock for only a few ms. */
const MAX_OWED_PER_STEP = 300;
const MAX_READ_PER_STEP = 3_000;
/** A replay that has made no step for this long counts as left unfinished by a process that was killed, in ms. */
const ABANDONED_MS = 10_000;

interface ReplayRow extends Choice {
  replay_no: number;
  sink: string;
  asked_at: number;
  through: number;
  bound: number;
  owed: number;
  left_out: 0 | 1;
}

interface CurrentLead {
  at: number;
  version_no: number;
  source: string;
  id: string;
}

/**
 * Owes leads again. First stores the request and then carries it out in steps, so that other writers wait only briefly and another process
 * can finish a replay whose process was killed. Every method runs inside its caller's transaction.
 */
export class Replaying {
  readonly #clock: Clock;
  readonly #rows: SinkRows;
  readonly #owing: Owing;
  readonly #sql;

  constructor(db: Database.Database, clock: Clock, rows: SinkRows, owing: Owing) {
    this.#clock = clock;
    this.#rows = rows;
    this.#owing = owing;
    this.#sql = prepare(db);
  }

  /** Owes the lead with this id from each source that has one, in one step. Returns how many leads it owes. */
  one(name: string, lead: LeadId, { source, since, until, leftOut = false }: LeadChoice): number {
    const sink = this.#rows.get(name);
    if (!sink) return 0;
    const found = this.#sql.ofLead.all({ lead, source: source ?? null, ...periodOf({ since, until }) });
    return this.#owe(sink, found, { askedAt: this.#clock.now().getTime(), leftOut });
  }

  /** Stores a replay of all leads that match now. Returns its number, or undefined if there is no such sink. */
  ask(name: string, { source, since, until, leftOut }: LeadChoice): number | undefined {
    const sink = this.#rows.get(name);
    if (!sink) return undefined;
    const now = this.#clock.now().getTime();
    const chosen = { source: source ?? null, ...periodOf({ since, until }) };
    const asked = { sink: sink.sinkNo, now, leftOut: leftOut ? 1 : 0, ...chosen } as const;
    return Number(this.#sql.ask.run(asked).lastInsertRowid);
  }

  /** Carries out the next step of a replay. `owed` is the total of all its steps. */
  step(replayNo: number): { owed: number; done: boolean } {
    const replay = this.#sql.get.get(replayNo);
    const sink = replay && this.#rows.get(replay.sink);
    if (!sink || replay.through >= replay.bound) return { owed: replay?.owed ?? 0, done: true };
    const to = Math.min(replay.through + MAX_READ_PER_STEP, replay.bound);
    const { source, since, until, bound, through: after } = replay;
    const found = this.#sql.between.all({ after, to, bound, source, since, until, limit: MAX_OWED_PER_STEP });
    const request = { askedAt: replay.asked_at, leftOut: replay.left_out === 1 };
    const owed = replay.owed + this.#owe(sink, found, request);
    const through = found.length < MAX_OWED_PER_STEP ? to : (found.at(-1)?.at ?? to);
    this.#sql.progress.run(through, owed, this.#clock.now().getTime(), replayNo);
    return { owed, done: through >= bound };
  }

  /** Returns the numbers of unfinished replays whose processes were killed. */
  abandoned(): number[] {
    return this.#sql.abandoned.all({ now: this.#clock.now().getTime(), ms: ABANDONED_MS });
  }

  /** Owes leads as part of the replay that was requested at `askedAt`, in ms since 1970. Returns how many it owes. */
  #owe(
    sink: SinkRow,
    leads: readonly CurrentLead[],
    { askedAt, leftOut }: { askedAt: number; leftOut: boolean },
  ): number {
    const now = this.#clock.now().getTime();
    const owed = leads.filter(({ version_no: versionNo, source, id }) => {
      const lead = { versionNo, source, id: BigInt(id) };
      return leftOut
        ? this.#owing.newest.oweLeftOut(sink, lead, askedAt, now)
        : this.#owing.replay(sink, lead, askedAt, now);
    });
    return owed.length;
  }
}

/**
 * The lead has content, and was first seen or changed in the period. A destination that lost its data from that period lacks both kinds of
 * leads.
 */
const MATCHES = `${HAS_CONTENT} AND (:source IS NULL OR v.source = :source)
  AND (v.first_seen_at >= :since AND v.first_seen_at < :until OR v.valid_from >= :since AND v.valid_from < :until)`;

type Choice = Period & { source: string | null };

function prepare(db: Database.Database) {
  return {
    ofLead: db.prepare<[Choice & { lead: LeadId }], CurrentLead>(
      `SELECT 0 AS at, l.version_no, l.source, CAST(l.id AS TEXT) AS id FROM _sources s
       CROSS JOIN _leads l ON l.source = s.source AND l.id = :lead CROSS JOIN _versions v ON v.version_no = l.version_no
       WHERE ${MATCHES}`,
    ),
    ask: db.prepare<[Choice & { sink: number; now: number; leftOut: 0 | 1 }]>(
      `INSERT INTO _replays (sink_no, asked_at, touched_at, left_out, source, since, until, bound)
       VALUES (:sink, :now, :now, :leftOut, :source, :since, :until, (SELECT coalesce(max(version_no), 0) FROM _versions))`,
    ),
    get: db.prepare<[number], ReplayRow>(
      'SELECT r.*, s.sink FROM _replays r JOIN _sinks s ON s.sink_no = r.sink_no WHERE r.replay_no = ?',
    ),
    between: db.prepare<[Choice & { after: number; to: number; bound: number; limit: number }], CurrentLead>(
      // For each lead, the version that was current when the replay was requested, or a newer version that was recorded since.
      `SELECT v.version_no AS at, l.version_no, v.source, CAST(v.id AS TEXT) AS id FROM _versions v
       JOIN _leads l ON l.source = v.source AND l.id = v.id
       WHERE v.version_no > :after AND v.version_no <= :to AND (l.version_no = v.version_no OR l.version_no > :bound
         AND v.version_no = (SELECT max(o.version_no) FROM _versions o WHERE o.source = v.source AND o.id = v.id AND o.version_no <= :bound))
       AND ${MATCHES}
       ORDER BY v.version_no LIMIT :limit`,
    ),
    progress: db.prepare<[number, number, number, number]>(
      'UPDATE _replays SET through = ?, owed = ?, touched_at = ? WHERE replay_no = ?',
    ),
    abandoned: db
      .prepare<[{ now: number; ms: number }], number>(
        // abs(), because a step with a time in the future also belongs to a killed process: the clock was set back since.
        'SELECT replay_no FROM _replays WHERE through < bound AND abs(:now - touched_at) > :ms',
      )
      .pluck(),
  };
}

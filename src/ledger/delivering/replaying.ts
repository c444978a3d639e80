import type Database from 'better-sqlite3';
import type { LeadId } from '../../leads/lead.ts';
import type { Clock } from '../../platform/time/clock.ts';
import type { LeadChoice } from '../contract/ledger-control.ts';
import type { SinkRow, SinkRows } from '../database/sink-rows.ts';
import { HAS_CONTENT } from '../privacy/retaining.ts';
import { type Period, periodOf } from '../queries/period.ts';
import type { Owing } from './owing.ts';

/** A step owes so many leads at most, and looks at so many versions: together a few ms of everybody's time. */
const MAX_OWED_PER_STEP = 300;
const MAX_READ_PER_STEP = 3_000;
/** A replay that nobody has gone on with for so long belongs to a process that was killed, in ms. */
const ABANDONED_MS = 10_000;

interface ReplayRow extends Choice {
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
 * Owes leads once more. What was asked for is stored first, and then done step by step, so that nobody waits long for
 * the ledger, and a process that is killed in the middle leaves nothing half done: another one finishes it.
 * Every method runs inside its caller's transaction.
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

  /** Owes one lead of each source that has it, at once. Gives how many. */
  one(name: string, lead: LeadId, { source, since, until }: LeadChoice): number {
    const sink = this.#rows.get(name);
    if (!sink) return 0;
    const found = this.#sql.ofLead.all({ lead, source: source ?? null, ...periodOf({ since, until }) });
    return this.#owe(sink, found, this.#clock.now().getTime());
  }

  /** Stores what is to be owed: everything that the choice means at this moment. Undefined when there is no such sink. */
  ask(name: string, { source, since, until }: LeadChoice): number | undefined {
    const sink = this.#rows.get(name);
    if (!sink) return undefined;
    const now = this.#clock.now().getTime();
    const asked = { sink: sink.sinkNo, now, source: source ?? null, ...periodOf({ since, until }) };
    return Number(this.#sql.ask.run(asked).lastInsertRowid);
  }

  /** Does the next step of a replay. `owed` counts all its steps. */
  step(replayNo: number): { owed: number; done: boolean } {
    const replay = this.#sql.get.get(replayNo);
    const sink = replay && this.#rows.get(replay.sink);
    if (!sink || replay.through >= replay.bound) return { owed: replay?.owed ?? 0, done: true };
    const to = Math.min(replay.through + MAX_READ_PER_STEP, replay.bound);
    const { source, since, until, bound, through: after } = replay;
    const found = this.#sql.between.all({ after, to, bound, source, since, until, limit: MAX_OWED_PER_STEP });
    const owed = replay.owed + this.#owe(sink, found, replay.asked_at);
    const through = found.length < MAX_OWED_PER_STEP ? to : (found.at(-1)?.at ?? to);
    this.#sql.progress.run(through, owed, this.#clock.now().getTime(), replayNo);
    return { owed, done: through >= bound };
  }

  /** Replays that somebody asked for and nobody goes on with. */
  abandoned(): number[] {
    return this.#sql.abandoned.all({ now: this.#clock.now().getTime(), ms: ABANDONED_MS });
  }

  #owe(sink: SinkRow, leads: readonly CurrentLead[], askedAt: number): number {
    const now = this.#clock.now().getTime();
    const owed = leads.filter(({ version_no, source, id }) =>
      this.#owing.replay(sink, version_no, source, BigInt(id), askedAt, now),
    );
    return owed.length;
  }
}

/** A lead whose content is there is meant by when it was first seen, and by when its content changed: both are missing in a sink that lost that time. */
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
    ask: db.prepare<[Choice & { sink: number; now: number }]>(
      `INSERT INTO _replays (sink_no, asked_at, touched_at, source, since, until, bound)
       VALUES (:sink, :now, :now, :source, :since, :until, (SELECT coalesce(max(version_no), 0) FROM _versions))`,
    ),
    get: db.prepare<[number], ReplayRow>(
      'SELECT r.*, s.sink FROM _replays r JOIN _sinks s ON s.sink_no = r.sink_no WHERE r.replay_no = ?',
    ),
    between: db.prepare<[Choice & { after: number; to: number; bound: number; limit: number }], CurrentLead>(
      // Of each lead the version that was current when the replay was asked for, or a newer one that came while it went on.
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
        // Also one from a time that lies ahead: the clock was set back since.
        'SELECT replay_no FROM _replays WHERE through < bound AND abs(:now - touched_at) > :ms',
      )
      .pluck(),
  };
}

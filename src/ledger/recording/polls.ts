import { setImmediate as turn } from 'node:timers/promises';
import type Database from 'better-sqlite3';
import type { ListingMarker } from '../../leads/listing-marker.ts';
import type { Clock } from '../../platform/time/clock.ts';
import type { PollEnd, PollSummary } from '../contract/ledger-polling.ts';
import type { PollId } from '../contract/status-rows.ts';
import { DAYS_COMPARED, dayOf } from '../database/listing-size-days.ts';
import type { Transactions } from '../database/transactions.ts';
import { oldBefore } from '../rules/recording/listed-content.ts';
import { NO_REASONS } from '../rules/recording/rejection-reasons.ts';
import { IdSet } from './id-set.ts';
import type { OpenPoll } from './open-poll.ts';
import { type BlockMemory, PollBlocks } from './poll-blocks.ts';
import type { Recording } from './recording.ts';
import { CLEAR_MARK, RECORD_PRESENCE } from './recording-sql.ts';

interface SourceRow {
  mark: string | null;
  complete_at: number | null;
  first_listed_at: number | null;
  listed: number;
  current: number;
}

/** The polls of each source. A source has one running poll at a time. The result of a poll decides which blocks the next poll may skip. */
export class Polls {
  readonly #clock: Clock;
  readonly #transactions: Transactions;
  readonly #recording: Recording;
  readonly #open = new Map<PollId, OpenPoll>();
  /** The blocks of each source's last complete listing. */
  readonly #blocks = new Map<string, BlockMemory>();
  readonly #sql;

  constructor(db: Database.Database, transactions: Transactions, clock: Clock, recording: Recording) {
    this.#clock = clock;
    this.#transactions = transactions;
    this.#recording = recording;
    this.#sql = prepare(db);
  }

  listingMark(source: string): ListingMarker | undefined {
    const mark = this.#sql.source.get(source)?.mark;
    return mark ? JSON.parse(mark) : undefined;
  }

  lastCompleteAt(source: string): Date | undefined {
    const at = this.#sql.source.get(source)?.complete_at;
    return at == null ? undefined : new Date(at);
  }

  /** Stores the origin of a source, unless the source has leads from another origin. Returns the stored origin. */
  async recordOrigin(source: string, origin: string): Promise<string> {
    const { origin: kept = null, leads = 0 } = this.#sql.origin.get(source) ?? {};
    if (kept === origin || (kept !== null && leads > 0)) return kept;
    await this.#transactions.write(() => {
      if (kept !== null) this.#forgetListings(source);
      this.#sql.recordOrigin.run(origin, source);
    });
    return origin;
  }

  /**
   * Forgets the listings from the previous origin, which were all empty, so that the leads in the first listing from the new origin count
   * as old.
   */
  #forgetListings(source: string): void {
    this.#sql.forgetListings.run(source);
    for (const poll of this.#open.values())
      if (poll.source === source) poll.oldBefore = Number.POSITIVE_INFINITY;
  }

  /** Removes the stored origin of a source. Returns false if there is no such source. */
  async forgetOrigin(source: string): Promise<boolean> {
    return (await this.#transactions.write(() => this.#sql.recordOrigin.run(null, source))).changes > 0;
  }

  /** Starts a poll, and records an unfinished poll of the same source as failed. */
  async start(source: string): Promise<PollId> {
    for (const poll of this.#open.values()) if (poll.source === source) this.#open.delete(poll.id);
    const poll = await this.#transactions.write(() => this.#add(source));
    this.#open.set(poll.id, poll);
    // If this poll records a part of the listing and then fails, the next poll cannot rely on these blocks.
    this.#blocks.delete(source);
    return poll.id;
  }

  #add(source: string): OpenPoll {
    const at = this.#clock.now();
    const now = iso(at);
    this.#sql.recordClock.run(at.getTime());
    this.#sql.addSource.run(source);
    this.#sql.failUnfinished.run(now, source);
    const row = this.#sql.source.get(source);
    return {
      id: Number(this.#sql.add.run(source, now).lastInsertRowid),
      source,
      oldBefore: oldBefore(row),
      listedBefore: row?.listed ?? 0,
      completeBefore: row?.complete_at ?? null,
      seen: new IdSet(),
      undecided: new IdSet(),
      blocks: new PollBlocks(this.#blocks.get(source)),
      rejectedFor: NO_REASONS,
      new: 0,
      changed: 0,
      rejected: 0,
    };
  }

  /** Returns a running poll. @throws Error if the poll is not running, which is a bug in the caller */
  get(id: PollId): OpenPoll {
    const poll = this.#open.get(id);
    if (!poll) throw new Error(`poll ${id} is not running`);
    return poll;
  }

  /** Finishes a poll. Marks leads as gone in chunks, and yields to the event loop between two chunks. */
  async finish(id: PollId, end: PollEnd): Promise<PollSummary> {
    const poll = this.get(id);
    const { memory, isSame } = poll.blocks.end();
    const status = end.status === 'success' && isSame ? 'unchanged' : end.status;
    if (status === 'success') {
      await this.#recording.acceptUndecided(poll);
      await this.#markUnlisted(poll);
    }
    await this.#transactions.write(() => {
      if (end.status === 'success' && !isSame) this.#complete(poll, end.mark);
      else if (end.status === 'success' || end.status === 'unchanged') this.#confirm(poll, end.mark);
      this.#close(poll, end, status);
    });
    this.#open.delete(id);
    if (end.status === 'success') this.#blocks.set(poll.source, memory);
    else if (poll.seen.size === 0 && poll.blocks.last) this.#blocks.set(poll.source, poll.blocks.last);
    const listed = status === 'unchanged' ? poll.listedBefore : poll.seen.size;
    return {
      status,
      listed,
      new: poll.new,
      changed: poll.changed,
      rejected: poll.rejected,
      listedBefore: poll.listedBefore,
      rejectedFor: poll.rejectedFor.first,
      rejectedForOthers: poll.rejectedFor.others,
    };
  }

  #complete(poll: OpenPoll, mark: ListingMarker | undefined): void {
    const now = this.#clock.now();
    const kept = mark === undefined ? null : JSON.stringify(mark);
    const at = now.getTime();
    // An empty first listing has recorded nothing, and every lead after it is new.
    this.#sql.complete.run(kept, at, poll.id, poll.seen.size, poll.rejected, at, poll.source);
    // The previous listing counts for today as well, because it was valid until now.
    this.#recordSize(poll.source, Math.max(poll.seen.size, poll.listedBefore));
    this.#sql.resolveRejected.run(iso(now), poll.source, poll.id);
  }

  #confirm(poll: OpenPoll, mark: ListingMarker | undefined): void {
    this.#sql.stillComplete.run({ now: this.#clock.now().getTime(), source: poll.source });
    this.#recordSize(poll.source, poll.listedBefore);
    if (mark) this.#sql.replaceMark.run(JSON.stringify(mark), poll.source);
  }

  #recordSize(source: string, most: number): void {
    const day = dayOf(this.#clock.now().getTime());
    this.#sql.recordSize.run(source, day, most);
    this.#sql.deleteSizes.run(source, day - DAYS_COMPARED);
  }

  #close(poll: OpenPoll, end: PollEnd, status: PollEnd['status']): void {
    const bytes = 'bytes' in end ? end.bytes : 0;
    const error = 'error' in end ? end.error : null;
    const listed = status === 'unchanged' ? poll.listedBefore : poll.seen.size;
    this.#sql.close.run(
      iso(this.#clock.now()),
      status,
      listed,
      poll.new,
      poll.changed,
      poll.rejected,
      bytes,
      end.httpStatus ?? null,
      error,
      poll.id,
    );
  }

  /** Marks leads as gone if this listing no longer contains them. Removes nothing. */
  async #markUnlisted(poll: OpenPoll): Promise<void> {
    const { source, seen } = poll;
    if (seen.size === this.#sql.source.get(source)?.current) return;
    const lastListedAt = poll.completeBefore ?? this.#clock.now().getTime();
    let after = '-9223372036854775808';
    for (;;) {
      const rows = this.#sql.listedAfter.all(source, BigInt(after));
      const missing = rows.filter((row) => !seen.has(row.first_no));
      if (missing.length > 0) {
        poll.blocks.forgetLast();
        await this.#transactions.write(() => {
          const now = this.#clock.now().getTime();
          for (const row of missing) {
            this.#sql.unlist.run(lastListedAt, source, BigInt(row.id));
            this.#sql.recordPresence.run(source, BigInt(row.id), lastListedAt, now);
          }
          this.#sql.lessCurrent.run(missing.length, source);
          this.#sql.clearMark.run(source);
        });
      }
      const last = rows.at(-1);
      if (!last) return;
      after = last.id;
      await turn();
    }
  }
}

function prepare(db: Database.Database) {
  return {
    source: db.prepare<[string], SourceRow>(
      'SELECT mark, complete_at, first_listed_at, listed, current FROM _sources WHERE source = ?',
    ),
    origin: db.prepare<[string], { origin: string | null; leads: number }>(
      'SELECT origin, leads FROM _sources WHERE source = ?',
    ),
    forgetListings: db.prepare(
      'UPDATE _sources SET mark = NULL, complete_at = NULL, complete_poll = NULL, first_listed_at = NULL WHERE source = ?',
    ),
    recordOrigin: db.prepare<[string | null, string]>('UPDATE _sources SET origin = ? WHERE source = ?'),
    recordClock: db.prepare('UPDATE _ledger SET clock_at = max(clock_at, ?)'),
    addSource: db.prepare('INSERT INTO _sources (source) VALUES (?) ON CONFLICT DO NOTHING'),
    failUnfinished: db.prepare(
      "UPDATE polls SET status = 'failed', finished_at = ?, error = 'leadsync stopped before this poll finished' WHERE source = ? AND status = 'running'",
    ),
    add: db.prepare("INSERT INTO polls (source, started_at, status) VALUES (?, ?, 'running')"),
    close: db.prepare(
      'UPDATE polls SET finished_at = ?, status = ?, leads_listed = ?, leads_new = ?, leads_changed = ?, leads_rejected = ?, bytes = ?, http_status = ?, error = ? WHERE poll_id = ?',
    ),
    recordPresence: db.prepare(RECORD_PRESENCE),
    clearMark: db.prepare(CLEAR_MARK),
    unlist: db.prepare('UPDATE _leads SET last_listed_at = ? WHERE source = ? AND id = ?'),
    listedAfter: db.prepare<[string, bigint], { id: string; first_no: number }>(
      'SELECT CAST(id AS TEXT) AS id, first_no FROM _leads WHERE source = ? AND id > ? AND last_listed_at IS NULL ORDER BY _leads.id LIMIT 1000',
    ),
    resolveRejected: db.prepare(
      `UPDATE rejected_leads SET resolved_at = ? WHERE source = ? AND resolved_at IS NULL AND last_poll_id < ? AND EXISTS
       (SELECT 1 FROM _leads l WHERE l.source = rejected_leads.source AND l.id = rejected_leads.lead_id AND l.last_listed_at IS NULL)`,
    ),
    complete: db.prepare(
      `UPDATE _sources SET mark = ?, complete_at = ?, complete_poll = ?, listed = ?, rejected = ?,
       first_listed_at = coalesce(first_listed_at, ?) WHERE source = ?`,
    ),
    recordSize: db.prepare<[string, number, number]>(
      'INSERT INTO _listing_sizes VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET most = max(most, excluded.most)',
    ),
    deleteSizes: db.prepare<[string, number]>('DELETE FROM _listing_sizes WHERE source = ? AND day < ?'),
    replaceMark: db.prepare('UPDATE _sources SET mark = ? WHERE source = ?'),
    stillComplete: db.prepare<[{ now: number; source: string }]>(
      'UPDATE _sources SET complete_at = :now, first_listed_at = coalesce(first_listed_at, :now) WHERE source = :source',
    ),
    lessCurrent: db.prepare('UPDATE _sources SET current = current - ? WHERE source = ?'),
  };
}

function iso(date: Date): string {
  return date.toISOString();
}

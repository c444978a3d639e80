import type Database from 'better-sqlite3';
import type { ListedItem, ListedLead, RejectedLead } from '../leads/listed-lead.ts';
import type { Clock } from '../platform/clock.ts';
import { reach } from '../platform/failpoint.ts';
import { IdSet } from './id-set.ts';
import type { ListingMark, PollEnd, PollId, PollSummary, Recorded } from './ledger.ts';
import type { Owing } from './owing.ts';

/** How far the service's clock may be behind ours before a new lead could be taken for an old one, in ms. */
const CLOCKS_APART_MS = 3_600_000;

/** So many different reasons for rejected leads are told of a poll. */
const REASONS_KEPT = 5;

/** What one poll has met so far. */
interface OpenPoll {
  readonly source: string;
  /** A lead that is new in this poll and was created before this time was listed before the source's sinks were there. */
  readonly oldBefore: number;
  readonly listedBefore: number;
  readonly completeBefore: number | null;
  /** The leads met, by number: tells a repeat within the listing, and which known leads it no longer has. */
  readonly seen: IdSet;
  readonly rejectedFor: Set<string>;
  new: number;
  changed: number;
  rejected: number;
}

interface LeadRow {
  version_no: number;
  first_no: number;
  version: number;
  hash: string;
  last_listed_at: number | null;
}

interface SourceRow {
  mark: string | null;
  complete_at: number | null;
  first_listed_at: number | null;
  listed: number;
  current: number;
}

/** The first half of the ledger: from a listing to what is seen and owed. */
export class Recording {
  readonly #clock: Clock;
  readonly #owing: Owing;
  readonly #open = new Map<PollId, OpenPoll>();
  readonly #sql;

  constructor(db: Database.Database, clock: Clock, owing: Owing) {
    this.#clock = clock;
    this.#owing = owing;
    this.#sql = prepare(db);
  }

  listingMark(source: string): ListingMark | undefined {
    const mark = this.#sql.source.get(source)?.mark;
    return mark ? JSON.parse(mark) : undefined;
  }

  startPoll(source: string): PollId {
    this.#sql.addSource.run(source);
    this.#sql.endForgotten.run(iso(this.#clock.now()), source);
    const row = this.#sql.source.get(source);
    const poll = Number(this.#sql.addPoll.run(source, iso(this.#clock.now())).lastInsertRowid);
    this.#open.set(poll, {
      source,
      oldBefore: oldBefore(row),
      listedBefore: row?.listed ?? 0,
      completeBefore: row?.complete_at ?? null,
      seen: new IdSet(),
      rejectedFor: new Set(),
      new: 0,
      changed: 0,
      rejected: 0,
    });
    return poll;
  }

  record(pollId: PollId, items: readonly ListedItem[], transact: (work: () => void) => void): Recorded {
    const poll = this.#poll(pollId);
    // Looked up before any transaction is opened: a chunk in which nothing is new must not take the write lock.
    const news = items.filter((item) => !this.#known(poll, item));
    const before = { ...poll };
    if (news.length > 0) {
      const now = this.#clock.now().getTime();
      this.#owing.load();
      this.#atOnce(poll, () =>
        transact(() => {
          if (poll.oldBefore === Number.POSITIVE_INFINITY) this.#sql.noteFirst.run(now, poll.source);
          for (const item of news) this.#recordOne(pollId, poll, item, now);
          reach('recording');
        }),
      );
    }
    return {
      listed: items.length,
      new: poll.new - before.new,
      changed: poll.changed - before.changed,
      rejected: poll.rejected - before.rejected,
    };
  }

  /** Takes the counts back when nothing was recorded. What was noted as met is met again, or is in no later listing. */
  #atOnce(poll: OpenPoll, work: () => void): void {
    const { new: fresh, changed, rejected } = poll;
    try {
      work();
    } catch (error) {
      Object.assign(poll, { new: fresh, changed, rejected });
      throw error;
    }
  }

  /** True, and noted as met, when the lead is known with this very content and needs nothing written. */
  #known(poll: OpenPoll, item: ListedItem): boolean {
    if (item.kind === 'rejected') return false;
    const row = this.#sql.lead.get(poll.source, item.id);
    if (row?.hash !== item.hash || row.last_listed_at !== null) return false;
    poll.seen.add(row.first_no);
    return true;
  }

  #recordOne(pollId: PollId, poll: OpenPoll, item: ListedItem, now: number): void {
    if (item.kind === 'rejected') {
      this.#reject(pollId, poll, item);
      return;
    }
    const row = this.#sql.lead.get(poll.source, item.id);
    if (!row) {
      this.#add(pollId, poll, item, now);
      return;
    }
    if (row.hash !== item.hash) {
      if (poll.seen.has(row.first_no)) {
        this.#rejectRepeat(pollId, poll, item);
        return;
      }
      this.#change(pollId, poll, item, row, now);
    }
    poll.seen.add(row.first_no);
    if (row.last_listed_at !== null) {
      this.#sql.relist.run(poll.source, item.id);
      this.#sql.addCurrent.run(1, poll.source);
    }
  }

  #add(pollId: PollId, poll: OpenPoll, lead: ListedLead, now: number): void {
    const { id, hash, raw } = lead;
    const versionNo = Number(
      this.#sql.addVersion.run(poll.source, id, 1, pollId, now, now, null, hash, raw).lastInsertRowid,
    );
    this.#sql.addLead.run(poll.source, id, versionNo, versionNo, hash);
    this.#sql.addCurrent.run(1, poll.source);
    this.#owing.created(versionNo, now, isOld(raw, poll.oldBefore));
    poll.seen.add(versionNo);
    poll.new += 1;
  }

  #change(pollId: PollId, poll: OpenPoll, lead: ListedLead, row: LeadRow, now: number): void {
    const { id, hash, raw } = lead;
    const last = this.#sql.version.get(row.version_no) as { raw: string; first_seen_at: number };
    const fields = JSON.stringify(changedFields(last.raw, raw));
    const version = row.version + 1;
    const added = this.#sql.addVersion.run(
      poll.source,
      id,
      version,
      pollId,
      now,
      last.first_seen_at,
      fields,
      hash,
      raw,
    );
    const versionNo = Number(added.lastInsertRowid);
    this.#sql.setVersion.run(versionNo, version, hash, poll.source, id);
    this.#owing.updated(versionNo, poll.source, id, now);
    poll.changed += 1;
  }

  #rejectRepeat(pollId: PollId, poll: OpenPoll, lead: ListedLead): void {
    // The first one counts. Taking the last would make a new version of the lead at every poll.
    const reason =
      'The same id stands in this listing more than once with different content; the first one was taken.';
    this.#reject(pollId, poll, { ...lead, kind: 'rejected', reason, path: 'id' });
  }

  #reject(pollId: PollId, poll: OpenPoll, item: RejectedLead): void {
    const { position, id, reason, path, hash, raw } = item;
    this.#sql.reject.run(poll.source, pollId, pollId, position, id ?? null, reason, path, hash, raw);
    poll.rejected += 1;
    if (poll.rejectedFor.size < REASONS_KEPT) poll.rejectedFor.add(path ? `${path}: ${reason}` : reason);
  }

  /** Ends the poll; between the chunks of a long sweep the event loop gets its turn. */
  async finishPoll(pollId: PollId, end: PollEnd, transact: (work: () => void) => void): Promise<PollSummary> {
    const poll = this.#poll(pollId);
    if (end.status === 'success') await this.#markUnlisted(poll, transact);
    transact(() => {
      if (end.status === 'success') this.#complete(pollId, poll, end.mark);
      if (end.status === 'unchanged') this.#sql.stillComplete.run(this.#clock.now().getTime(), poll.source);
      if (end.status === 'unchanged' && end.mark) this.#sql.remark.run(JSON.stringify(end.mark), poll.source);
      this.#closePoll(pollId, poll, end);
    });
    this.#open.delete(pollId);
    const listed = end.status === 'unchanged' ? poll.listedBefore : poll.seen.size;
    return {
      listed,
      new: poll.new,
      changed: poll.changed,
      rejected: poll.rejected,
      listedBefore: poll.listedBefore,
      rejectedFor: [...poll.rejectedFor],
    };
  }

  #complete(pollId: PollId, poll: OpenPoll, mark: ListingMark | undefined): void {
    const now = this.#clock.now();
    const kept = mark === undefined ? null : JSON.stringify(mark);
    this.#sql.complete.run(kept, now.getTime(), pollId, poll.seen.size, poll.rejected, poll.source);
    this.#sql.resolveRejected.run(iso(now), poll.source, pollId);
  }

  #closePoll(pollId: PollId, poll: OpenPoll, end: PollEnd): void {
    const bytes = 'bytes' in end ? end.bytes : 0;
    const error = 'error' in end ? end.error : null;
    const listed = end.status === 'unchanged' ? poll.listedBefore : poll.seen.size;
    this.#sql.closePoll.run(
      iso(this.#clock.now()),
      end.status,
      listed,
      poll.new,
      poll.changed,
      poll.rejected,
      bytes,
      end.httpStatus ?? null,
      error,
      pollId,
    );
  }

  /** Notes since when leads are no longer listed. They stay what they are: nothing is removed. */
  async #markUnlisted(poll: OpenPoll, transact: (work: () => void) => void): Promise<void> {
    const { source, seen } = poll;
    if (seen.size === this.#sql.source.get(source)?.current) return;
    const lastListedAt = poll.completeBefore ?? this.#clock.now().getTime();
    let after = '-9223372036854775808';
    for (;;) {
      const rows = this.#sql.listedAfter.all(source, BigInt(after));
      const missing = rows.filter((row) => !seen.has(row.first_no));
      if (missing.length > 0) {
        transact(() => {
          for (const row of missing) this.#sql.unlist.run(lastListedAt, source, BigInt(row.id));
          this.#sql.addCurrent.run(-missing.length, source);
        });
      }
      const last = rows.at(-1);
      if (!last) return;
      after = last.id;
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  #poll(id: PollId): OpenPoll {
    const poll = this.#open.get(id);
    if (!poll) throw new Error(`poll ${id} is not under way`);
    return poll;
  }
}

function prepare(db: Database.Database) {
  return {
    source: db.prepare<[string], SourceRow>(
      'SELECT mark, complete_at, first_listed_at, listed, current FROM _sources WHERE source = ?',
    ),
    addSource: db.prepare('INSERT INTO _sources (source) VALUES (?) ON CONFLICT DO NOTHING'),
    endForgotten: db.prepare(
      "UPDATE polls SET status = 'failed', finished_at = ?, error = 'leadsync ended while this poll was under way' WHERE source = ? AND status = 'running'",
    ),
    addPoll: db.prepare("INSERT INTO polls (source, started_at, status) VALUES (?, ?, 'running')"),
    closePoll: db.prepare(
      'UPDATE polls SET finished_at = ?, status = ?, leads_listed = ?, leads_new = ?, leads_changed = ?, leads_rejected = ?, bytes = ?, http_status = ?, error = ? WHERE poll_id = ?',
    ),
    lead: db.prepare<[string, bigint], LeadRow>(
      'SELECT version_no, first_no, version, hash, last_listed_at FROM _leads WHERE source = ? AND id = ?',
    ),
    version: db.prepare<[number], { raw: string; first_seen_at: number }>(
      'SELECT raw, first_seen_at FROM _versions WHERE version_no = ?',
    ),
    addLead: db.prepare(
      'INSERT INTO _leads (source, id, version_no, first_no, version, hash) VALUES (?, ?, ?, ?, 1, ?)',
    ),
    addVersion: db.prepare(
      'INSERT INTO _versions (source, id, version, poll_id, valid_from, first_seen_at, changed_fields, hash, raw) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)',
    ),
    setVersion: db.prepare(
      'UPDATE _leads SET version_no = ?, version = ?, hash = ? WHERE source = ? AND id = ?',
    ),
    relist: db.prepare('UPDATE _leads SET last_listed_at = NULL WHERE source = ? AND id = ?'),
    unlist: db.prepare('UPDATE _leads SET last_listed_at = ? WHERE source = ? AND id = ?'),
    addCurrent: db.prepare('UPDATE _sources SET current = current + ? WHERE source = ?'),
    listedAfter: db.prepare<[string, bigint], { id: string; first_no: number }>(
      'SELECT CAST(id AS TEXT) AS id, first_no FROM _leads WHERE source = ? AND id > ? AND last_listed_at IS NULL ORDER BY _leads.id LIMIT 1000',
    ),
    reject: db.prepare(
      `INSERT INTO rejected_leads (source, poll_id, last_poll_id, position, lead_id, reason, path, hash, raw) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT (source, hash) DO UPDATE SET last_poll_id = excluded.last_poll_id, position = excluded.position, resolved_at = NULL`,
    ),
    resolveRejected: db.prepare(
      `UPDATE rejected_leads SET resolved_at = ? WHERE source = ? AND resolved_at IS NULL AND last_poll_id < ? AND EXISTS
       (SELECT 1 FROM _leads l WHERE l.source = rejected_leads.source AND l.id = rejected_leads.lead_id AND l.last_listed_at IS NULL)`,
    ),
    complete: db.prepare(
      'UPDATE _sources SET mark = ?, complete_at = ?, complete_poll = ?, listed = ?, rejected = ? WHERE source = ?',
    ),
    noteFirst: db.prepare(
      'UPDATE _sources SET first_listed_at = ? WHERE source = ? AND first_listed_at IS NULL',
    ),
    remark: db.prepare('UPDATE _sources SET mark = ? WHERE source = ?'),
    stillComplete: db.prepare('UPDATE _sources SET complete_at = ? WHERE source = ?'),
  };
}

/**
 * Whatever the first poll records is old. Should it break off, the next ones go on with it: of what they add, only what
 * was created well before it began is old. Once a listing was recorded to its end, whatever is new is new.
 */
function oldBefore(row: SourceRow | undefined): number {
  if (row?.complete_at != null) return Number.NEGATIVE_INFINITY;
  return row?.first_listed_at == null ? Number.POSITIVE_INFINITY : row.first_listed_at - CLOCKS_APART_MS;
}

function isOld(raw: string, before: number): boolean {
  if (!Number.isFinite(before)) return before > 0;
  const { created_at } = JSON.parse(raw) as { created_at?: string };
  return Date.parse(created_at ?? '') < before;
}

/** The top-level fields in which two texts of a lead differ. Names only, never values. */
function changedFields(before: string, after: string): string[] {
  const [old, now] = [JSON.parse(before), JSON.parse(after)] as [
    Record<string, unknown>,
    Record<string, unknown>,
  ];
  const names = new Set([...Object.keys(old), ...Object.keys(now)]);
  return [...names].filter((name) => JSON.stringify(old[name]) !== JSON.stringify(now[name]));
}

function iso(date: Date): string {
  return date.toISOString();
}

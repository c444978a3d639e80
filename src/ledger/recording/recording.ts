import { setImmediate as turn } from 'node:timers/promises';
import type Database from 'better-sqlite3';
import { factsOf } from '../../leads/content-facts.ts';
import type { LeadId } from '../../leads/lead.ts';
import type {
  BlockHead,
  ListedElement,
  ListedItem,
  ListedLead,
  RejectedLead,
} from '../../leads/listed-lead.ts';
import { reach } from '../../platform/process/failpoint.ts';
import type { Clock } from '../../platform/time/clock.ts';
import type { RecordCounts } from '../contract/ledger-polling.ts';
import type { LedgerAccess } from '../database/ledger-access.ts';
import type { Owing } from '../delivering/owing.ts';
import { changedFields } from '../rules/recording/changed-fields.ts';
import { isOld, REPEATED } from '../rules/recording/listed-content.ts';
import { withReason } from '../rules/recording/rejection-reasons.ts';
import { beginBlock } from './begin-blocks.ts';
import type { ChunkChanges } from './chunk-changes.ts';
import type { OpenPoll } from './open-poll.ts';
import { columnsOf, type LeadRow, prepareRecording, type RejectedContentRow } from './recording-sql.ts';

/** New content of a known lead. */
type Content = Pick<ListedLead, 'id' | 'hash' | 'raw' | 'facts'>;

/** Records the elements of a listing: stores new and changed leads, and records them as owed to sinks. */
export class Recording {
  readonly #clock: Clock;
  readonly #access: LedgerAccess;
  readonly #owing: Owing;
  readonly #sql;

  constructor(db: Database.Database, access: LedgerAccess, clock: Clock, owing: Owing) {
    this.#clock = clock;
    this.#access = access;
    this.#owing = owing;
    this.#sql = prepareRecording(db);
  }

  /** Returns the indexes of the elements whose content is not known or whose lead was gone. Counts the other elements as seen. */
  unknownIndexes(poll: OpenPoll, elements: readonly Pick<ListedElement, 'id' | 'hash'>[]): number[] {
    return elements.flatMap(({ id, hash }, place) =>
      id !== undefined && this.#known(poll, id, hash) ? [] : [place],
    );
  }

  /**
   * Stores the items, and records their leads as owed, in one transaction. When the promise resolves, all of this is on disk. If it rejects,
   * none of it is.
   * @param block the block that consists of the items, unless that block has already begun
   */
  async record(poll: OpenPoll, items: readonly ListedItem[], block?: BlockHead): Promise<RecordCounts> {
    if (block && beginBlock(poll, block)) return { listed: items.length, new: 0, changed: 0, rejected: 0 };
    // Filters before the transaction, because a chunk with nothing new must not take the write lock. Without `block`, `unknownIndexes` has
    // already compared the rejected items.
    const news = this.#access.transactions.read(() =>
      items.filter(
        (item) =>
          item.id === undefined ||
          (item.kind === 'rejected' && !block) ||
          !this.#known(poll, item.id, item.hash),
      ),
    );
    const counts = news.length > 0 ? await this.#add(poll, news) : { new: 0, changed: 0, rejected: 0 };
    return { listed: items.length, ...counts };
  }

  /**
   * Records leads and their deliveries in one commit, which it may share with other work, such as the claim of these deliveries. If the
   * commit fails or runs this work again, restores the poll's counts and sets. Returns what the work added to the counts.
   */
  async #add(poll: OpenPoll, items: readonly ListedItem[]): Promise<Omit<RecordCounts, 'listed'>> {
    let undo = (): void => undefined;
    try {
      return await this.#access.commit(() => {
        undo();
        const now = this.#clock.now().getTime();
        const before = { ...poll };
        const addition: ChunkChanges = { now, old: [], fresh: [], seen: [], undecided: [], back: 0 };
        undo = () => restore(poll, before, addition);
        if (poll.oldBefore === Number.POSITIVE_INFINITY) this.#sql.setFirstListed.run(now, poll.source);
        this.#owing.load();
        for (const item of items) this.#recordOne(poll, addition, item);
        this.#owing.created(addition, now);
        const added = addition.old.length + addition.fresh.length;
        this.#sql.count.run(added, added + addition.back, poll.source);
        reach('recording');
        return {
          new: poll.new - before.new,
          changed: poll.changed - before.changed,
          rejected: poll.rejected - before.rejected,
        };
      });
    } catch (error) {
      undo();
      throw error;
    }
  }

  /** Whether the lead is known with this content and is still listed, so that nothing has to be written. If so, counts the lead as seen. */
  #known(poll: OpenPoll, id: LeadId, hash: string): boolean {
    const row = this.#sql.lead.get(poll.source, id);
    if (row?.hash !== hash) return false;
    poll.undecided.delete(row.first_no);
    if (row.last_listed_at !== null) return false;
    poll.seen.add(row.first_no);
    poll.blocks.seen(row.first_no);
    return true;
  }

  #recordOne(poll: OpenPoll, addition: ChunkChanges, item: ListedItem): void {
    if (item.kind === 'rejected') {
      this.#reject(poll, item);
      return;
    }
    const row = this.#sql.lead.get(poll.source, item.id);
    if (row) this.#recordKnown(poll, addition, item, row);
    else this.#addLead(poll, addition, item);
  }

  /**
   * Records an element whose lead is known: stores its content if that is new, and records that the lead is listed again if it was gone.
   */
  #recordKnown(poll: OpenPoll, addition: ChunkChanges, lead: ListedLead, row: LeadRow): void {
    if (row.erased_no !== null) this.#recordErased(poll, lead, row);
    else if (row.hash !== lead.hash) {
      const undecided = !poll.seen.has(row.first_no) && this.#isBarred(poll, lead);
      if (undecided && poll.undecided.add(row.first_no)) addition.undecided.push(row.first_no);
      if (undecided || poll.seen.has(row.first_no)) this.#rejectRepeat(poll, lead);
      else {
        this.#change(poll, lead, row, addition.now);
        poll.blocks.seen(row.first_no);
      }
    } else poll.blocks.seen(row.first_no);
    if (poll.seen.add(row.first_no)) addition.seen.push(row.first_no);
    if (row.last_listed_at !== null) {
      this.#sql.relist.run(poll.source, lead.id);
      this.#sql.clearMark.run(poll.source);
      this.#sql.recordPresence.run(poll.source, lead.id, null, addition.now);
      addition.back += 1;
    }
  }

  /** Ignores the content of an erased lead. Stores only the hash of new content, so that the next polls treat that content as known. */
  #recordErased(poll: OpenPoll, lead: ListedLead, row: LeadRow): void {
    if (row.hash !== lead.hash && !poll.seen.has(row.first_no)) {
      this.#sql.setHash.run(lead.hash, poll.source, lead.id);
      this.#sql.countIgnored.run(row.erased_no);
    }
    poll.blocks.seen(row.first_no);
  }

  #addLead(poll: OpenPoll, addition: ChunkChanges, lead: ListedLead): void {
    const { id, hash, raw, facts } = lead;
    const { now } = addition;
    const versionNo = Number(
      this.#sql.addVersion.run(poll.source, id, 1, poll.id, now, now, null, hash, raw, ...columnsOf(facts))
        .lastInsertRowid,
    );
    this.#sql.addLead.run(poll.source, id, versionNo, versionNo, hash);
    (isOld(facts, poll.oldBefore) ? addition.old : addition.fresh).push(versionNo);
    if (poll.seen.add(versionNo)) addition.seen.push(versionNo);
    poll.blocks.seen(versionNo);
    poll.new += 1;
  }

  #change(poll: OpenPoll, lead: Content, row: LeadRow, now: number): void {
    const { id, hash, raw, facts } = lead;
    const last = this.#sql.version.get(row.version_no) as {
      raw: string;
      hash: string;
      first_seen_at: number;
    };
    if (last.hash === hash) {
      this.#restoreText(poll.source, lead, row.version_no, now);
      return;
    }
    const fields = changedFields(last.raw, raw);
    const version = row.version + 1;
    const added = this.#sql.addVersion.run(
      poll.source,
      id,
      version,
      poll.id,
      now,
      last.first_seen_at,
      fields && JSON.stringify(fields),
      hash,
      raw,
      ...columnsOf(facts),
    );
    const versionNo = Number(added.lastInsertRowid);
    this.#sql.setVersion.run(versionNo, version, hash, poll.source, id);
    this.#owing.updated(versionNo, poll.source, id, now);
    poll.blocks.changed(row.first_no);
    this.#sql.clearMark.run(poll.source);
    poll.changed += 1;
  }

  /** Restores the text of a version that lost its text to damage and is listed again unchanged. Does not create a new version. */
  #restoreText(source: string, { id, hash, raw, facts }: Content, versionNo: number, now: number): void {
    this.#sql.setText.run(raw, ...columnsOf(facts), versionNo);
    this.#sql.setHash.run(hash, source, id);
    this.#owing.textRestored(versionNo, now);
  }

  /**
   * Whether this content must not be recorded now, although it is valid: it was rejected because a listing contained the lead's id more than
   * once, with different content, or its text was erased while it was rejected.
   */
  #isBarred(poll: OpenPoll, lead: ListedLead): boolean {
    return this.#sql.isBarred.get(poll.source, lead.hash) !== undefined;
  }

  #rejectRepeat(poll: OpenPoll, lead: ListedLead): void {
    // The known content wins; if the listing does not contain it, the first content wins. If the last content won, every poll would create
    // a new version.
    this.#reject(poll, { ...lead, kind: 'rejected', reason: REPEATED, path: 'id' });
  }

  #reject(poll: OpenPoll, item: RejectedLead): void {
    const { position, id, reason, path, hash, raw } = item;
    const erased = id !== undefined && this.#sql.lead.get(poll.source, id)?.erased_no != null;
    const kept = erased ? '' : raw;
    this.#sql.reject.run(poll.source, poll.id, poll.id, position, id ?? null, reason, path, hash, kept);
    poll.rejected += 1;
    poll.rejectedFor = withReason(poll.rejectedFor, item);
  }

  /**
   * Accepts, for each undecided lead (see `OpenPoll.undecided`), the first content that was rejected as a repeat, because the listing did
   * not contain the known content. Must be called at the end of a listing.
   */
  async acceptUndecided(poll: OpenPoll): Promise<void> {
    for (let after = 0; poll.undecided.size > 0; await turn()) {
      const rows = this.#sql.rejectedAfter.all(poll.source, poll.id, after);
      const last = rows.at(-1);
      if (!last) return;
      after = last.rejected_id;
      const first = rows.filter((row) => poll.undecided.delete(row.first_no));
      if (first.length > 0) await this.#acceptAll(poll, first);
    }
  }

  async #acceptAll(poll: OpenPoll, rows: readonly RejectedContentRow[]): Promise<void> {
    const { changed, rejected } = poll;
    try {
      await this.#access.transactions.write(() => {
        const now = this.#clock.now();
        this.#owing.load();
        for (const { rejected_id, id } of rows) {
          const lead = this.#sql.lead.get(poll.source, BigInt(id));
          const content = this.#sql.rejectedContent.get(rejected_id);
          if (!lead || lead.erased_no !== null || !content) continue;
          const facts = factsOf(content.raw);
          this.#change(poll, { id: BigInt(id), ...content, facts }, lead, now.getTime());
          this.#sql.resolve.run(iso(now), rejected_id);
          poll.rejected -= 1;
        }
      });
    } catch (error) {
      Object.assign(poll, { changed, rejected });
      for (const row of rows) poll.undecided.add(row.first_no);
      throw error;
    }
  }
}

function iso(date: Date): string {
  return date.toISOString();
}

/** Undoes in memory what a transaction that was rolled back added to a poll. */
function restore(poll: OpenPoll, before: OpenPoll, addition: ChunkChanges): void {
  const { new: fresh, changed, rejected, rejectedFor } = before;
  Object.assign(poll, { new: fresh, changed, rejected, rejectedFor });
  poll.blocks.discardOpenBlock();
  for (const lead of addition.seen) poll.seen.delete(lead);
  for (const lead of addition.undecided) poll.undecided.delete(lead);
}

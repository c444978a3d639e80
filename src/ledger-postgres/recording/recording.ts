import { factsOf } from '../../leads/content-facts.ts';
import type { ListedElement, ListedItem } from '../../leads/listed-lead.ts';
import { storable } from '../../leads/storable-text.ts';
import type { RecordCounts } from '../../ledger/contract/ledger-polling.ts';
import type { OpenPoll } from '../../ledger/recording/open-poll.ts';
import { reach } from '../../platform/process/failpoint.ts';
import type { PostgresAccess } from '../database/postgres-access.ts';
import type { Sink } from '../database/sinks.ts';
import { texts } from '../database/statement.ts';
import type { Transaction } from '../database/transaction.ts';
import { oweCreated, oweRestored, oweUpdated } from '../delivering/owing.ts';
import { askKnown, askLeads, byId, type Known, knownOf } from './known-leads.ts';
import { Chunk, factsColumns } from './listing-chunk.ts';
import type { Fence } from './poll-fence.ts';
import { type LeadRow, type RepeatedRow, recordingSql } from './recording-sql.ts';

const {
  ADD_LEADS,
  ADD_VERSIONS,
  CHANGE_LEADS,
  COUNT_IGNORED,
  COUNT_LEADS,
  RECORD_PRESENCE,
  REJECT,
  REJECTED_CONTENTS,
  REPEATED_AFTER,
  RESOLVE,
  RESTORE_TEXTS,
} = recordingSql;

/** A poll that is running, with its fence. */
export interface FencedPoll extends OpenPoll {
  readonly fence: Fence;
  /** The marker of the source's last complete listing and the origin of the source, as they were when the poll began. */
  mark: string | null;
  origin: string | null;
  /** The contents that the last `unknownIndexes` found unknown. */
  lookedUp: LookedUp | undefined;
}

interface LookedUp {
  readonly hashes: ReadonlySet<string>;
  /** The number of parts of the poll when they were looked up. Once the poll has recorded another part, they may be known. */
  readonly parts: number;
}

/** Records the elements of a listing: stores new and changed leads, and records them as owed to sinks. */
export class Recording {
  readonly #access: PostgresAccess;

  constructor(access: PostgresAccess) {
    this.#access = access;
  }

  /** Returns the indexes of the elements whose content is not known or whose lead was gone. Counts the other elements as seen. */
  async unknownIndexes(
    poll: FencedPoll,
    elements: readonly Pick<ListedElement, 'id' | 'hash'>[],
  ): Promise<number[]> {
    const known = await this.#lookUp(poll, elements);
    const unknown = elements.flatMap(({ id, hash }, place) =>
      id !== undefined && isKnown(poll, known.get(id), hash) ? [] : [place],
    );
    const hashes = new Set(unknown.map((place) => elements[place]?.hash as string));
    poll.lookedUp = { hashes, parts: poll.fence.parts };
    return unknown;
  }

  async #lookUp(poll: FencedPoll, elements: readonly Pick<ListedElement, 'id'>[]): Promise<Known> {
    return byId(await poll.fence.read(this.#access, (tx) => tx.answer(askLeads(poll, elements))));
  }

  /**
   * Stores the items, and records their leads as owed, in one transaction. When the promise resolves, all of this is on disk. If it rejects,
   * none of it is, or the poll is fenced.
   * @param isWholeBlock whether the items are all elements of a block that was not looked up before
   */
  async record(poll: FencedPoll, items: readonly ListedItem[], isWholeBlock: boolean): Promise<RecordCounts> {
    const before = { ...poll };
    const news = wereLookedUp(poll, items) ? items : await this.#newsOf(poll, items, isWholeBlock);
    if (news.length > 0) await this.#add(poll, news);
    return {
      listed: items.length,
      new: poll.new - before.new,
      changed: poll.changed - before.changed,
      rejected: poll.rejected - before.rejected,
    };
  }

  /** Returns the items to be recorded. Filters before the transaction, because a chunk with nothing new must not take the owing lock. */
  async #newsOf(
    poll: FencedPoll,
    items: readonly ListedItem[],
    isWholeBlock: boolean,
  ): Promise<readonly ListedItem[]> {
    const known = await this.#lookUp(poll, items);
    return items.filter(
      (item) =>
        item.id === undefined ||
        (item.kind === 'rejected' && !isWholeBlock) ||
        !isKnown(poll, known.get(item.id), item.hash),
    );
  }

  async #add(poll: FencedPoll, items: readonly ListedItem[]): Promise<void> {
    const asked = askKnown(poll, items);
    const record = async (tx: Transaction) => {
      const known = await knownOf(tx, items, asked);
      const chunk = new Chunk(poll, known);
      for (const item of items) chunk.add(item);
      await write(tx, poll, chunk, known.sinks);
      reach('recording');
      return chunk;
    };
    try {
      const chunk = await poll.fence.keep(this.#access, record, [asked.leads, asked.rejected, asked.sinks]);
      chunk.apply();
    } catch (error) {
      poll.blocks.discardOpenBlock();
      throw error;
    }
  }

  /**
   * Accepts, for each undecided lead (see `OpenPoll.undecided`), the first content that was rejected as a repeat, because the listing did
   * not contain the known content. Must be called at the end of a listing.
   */
  async acceptUndecided(poll: FencedPoll): Promise<void> {
    for (let after = 0; poll.undecided.size > 0; ) {
      const rows = await poll.fence.read(this.#access, (tx) =>
        tx.rows(REPEATED_AFTER, [poll.source, poll.id, after]),
      );
      const last = rows.at(-1);
      if (!last) return;
      after = last.rejected_id;
      const undecided = rows.filter((row) => poll.undecided.has(row.first_no));
      const first = [...new Map(undecided.toReversed().map((row) => [row.first_no, row])).values()];
      if (first.length > 0) await this.#accept(poll, first.toReversed());
      for (const row of first) poll.undecided.delete(row.first_no);
    }
  }

  async #accept(poll: FencedPoll, rows: readonly RepeatedRow[]): Promise<void> {
    const { chunk, accepted } = await poll.fence.keep(this.#access, async (tx) => {
      const stored = await tx.rows(REJECTED_CONTENTS, [rows.map(({ rejected_id }) => rejected_id)]);
      const contents = rows.flatMap(({ rejected_id, id }) => {
        const content = stored.find((row) => row.rejected_id === rejected_id);
        return content ? [{ ...content, id: BigInt(id), facts: factsOf(content.raw) }] : [];
      });
      const known = await knownOf(tx, contents, askKnown(poll, contents));
      const chunk = new Chunk(poll, known);
      const accepted = contents.filter(({ id }) => chunk.isKnown(id));
      for (const content of accepted) chunk.accept(content);
      await write(tx, poll, chunk, known.sinks);
      tx.later(RESOLVE, [tx.now, accepted.map(({ rejected_id }) => rejected_id)]);
      return { chunk, accepted };
    });
    chunk.apply();
    poll.rejected -= accepted.length;
  }
}

/** Whether the lead is known with this content and is still listed, so that nothing has to be written. If so, counts the lead as seen. */
function isKnown(poll: OpenPoll, row: LeadRow | undefined, hash: string): boolean {
  if (row?.hash !== hash) return false;
  poll.undecided.delete(row.first_no);
  if (row.last_listed_at !== null) return false;
  poll.seen.add(row.first_no);
  poll.blocks.seen(row.first_no);
  return true;
}

/** Whether the items are among those that the last look-up found unknown, and the poll has recorded nothing since. */
function wereLookedUp({ lookedUp, fence }: FencedPoll, items: readonly ListedItem[]): boolean {
  return lookedUp?.parts === fence.parts && items.every(({ hash }) => lookedUp.hashes.has(hash));
}

/** Writes what a chunk decided: one statement for each kind of change, most of them with the commit. */
async function write(tx: Transaction, poll: OpenPoll, chunk: Chunk, sinks: readonly Sink[]): Promise<void> {
  addVersions(tx, poll, chunk);
  changeLeads(tx, poll, chunk);
  reject(tx, poll, chunk);
  oweCreated(tx, sinks, chunk);
  await oweUpdated(tx, sinks, chunk.updated);
  await oweRestored(
    tx,
    chunk.restored.map(({ versionNo }) => versionNo),
  );
  const added = chunk.old.length + chunk.fresh.length;
  const firstListedAt = poll.oldBefore === Number.POSITIVE_INFINITY ? tx.now : null;
  const counts = [added, added + chunk.back.length];
  tx.later(COUNT_LEADS, [poll.source, ...counts, chunk.clearsMark, firstListedAt]);
}

function addVersions(tx: Transaction, poll: OpenPoll, { versions }: Chunk): void {
  if (versions.length === 0) return;
  const { slugs, createdAt, readable, safe } = factsColumns(versions);
  tx.later(ADD_VERSIONS, [
    poll.source,
    poll.id,
    tx.now,
    versions.map(({ versionNo }) => versionNo),
    versions.map(({ id }) => id),
    versions.map(({ version }) => version),
    versions.map(({ firstSeenAt }) => firstSeenAt),
    texts(versions.map(({ changedFields }) => changedFields && JSON.stringify(changedFields))),
    texts(versions.map(({ hash }) => hash)),
    texts(versions.map(({ raw }) => raw)),
    texts(slugs),
    createdAt,
    texts(readable),
    texts(safe),
  ]);
  const added = versions.filter(({ version }) => version === 1);
  if (added.length === 0) return;
  tx.later(ADD_LEADS, [
    poll.source,
    added.map(({ id }) => id),
    added.map(({ versionNo }) => versionNo),
    texts(added.map(({ hash }) => hash)),
  ]);
}

function changeLeads(tx: Transaction, poll: OpenPoll, chunk: Chunk): void {
  const touched = [...chunk.touched];
  if (touched.length > 0)
    tx.later(CHANGE_LEADS, [
      poll.source,
      touched.map(([id]) => id),
      touched.map(([, row]) => row.version_no),
      touched.map(([, row]) => row.version),
      texts(touched.map(([, row]) => row.hash)),
    ]);
  if (chunk.back.length > 0) tx.later(RECORD_PRESENCE, [poll.source, chunk.back, null, tx.now]);
  if (chunk.ignored.length > 0) tx.later(COUNT_IGNORED, [chunk.ignored]);
  if (chunk.restored.length === 0) return;
  const { slugs, createdAt, readable, safe } = factsColumns(chunk.restored);
  tx.later(RESTORE_TEXTS, [
    chunk.restored.map(({ versionNo }) => versionNo),
    texts(chunk.restored.map(({ raw }) => raw)),
    texts(slugs),
    createdAt,
    texts(readable),
    texts(safe),
  ]);
}

function reject(tx: Transaction, poll: OpenPoll, chunk: Chunk): void {
  const items = [...chunk.rejections.values()];
  if (items.length === 0) return;
  tx.later(REJECT, [
    poll.source,
    poll.id,
    items.map(({ position }) => position),
    items.map(({ id }) => id ?? null),
    // PostgreSQL cannot store NUL. The text of a valid lead has none, so nothing that may be accepted later is changed.
    texts(items.map(({ reason }) => storable(reason))),
    texts(items.map(({ path }) => storable(path))),
    texts(items.map(({ hash }) => hash)),
    texts(items.map(({ raw }) => storable(raw))),
  ]);
}

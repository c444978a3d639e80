import { factsOf } from '../../leads/content-facts.ts';
import type { LeadId } from '../../leads/lead.ts';
import type { ListedElement, ListedItem } from '../../leads/listed-lead.ts';
import { storable } from '../../leads/storable-text.ts';
import type { RecordCounts } from '../../ledger/contract/ledger-polling.ts';
import type { OpenPoll } from '../../ledger/recording/open-poll.ts';
import { reach } from '../../platform/process/failpoint.ts';
import type { PostgresAccess } from '../database/postgres-access.ts';
import { allSinks } from '../database/sinks.ts';
import { texts } from '../database/statement.ts';
import type { Transaction } from '../database/transaction.ts';
import { oweCreated, oweRestored, oweUpdated } from '../delivering/owing.ts';
import { Chunk, type Content, factsColumns } from './listing-chunk.ts';
import type { Fence } from './poll-fence.ts';
import { type LeadRow, type RepeatedRow, recordingSql } from './recording-sql.ts';

const {
  ADD_LEADS,
  ADD_VERSIONS,
  CHANGE_LEADS,
  CONTENTS,
  COUNT_IGNORED,
  COUNT_LEADS,
  LEADS,
  NUMBERS,
  RECORD_PRESENCE,
  REJECT,
  REJECTED,
  REJECTED_CONTENTS,
  REPEATED_AFTER,
  RESOLVE,
  RESTORE_TEXTS,
} = recordingSql;

/** A poll that is running, with its fence. */
export interface FencedPoll extends OpenPoll {
  readonly fence: Fence;
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
    const known = await poll.fence.read(this.#access, (tx) => leadsOf(tx, poll, elements));
    return elements.flatMap(({ id, hash }, place) =>
      id !== undefined && isKnown(poll, known.get(id), hash) ? [] : [place],
    );
  }

  /**
   * Stores the items, and records their leads as owed, in one transaction. When the promise resolves, all of this is on disk. If it rejects,
   * none of it is, or the poll is fenced.
   * @param isWholeBlock whether the items are all elements of a block that was not looked up before
   */
  async record(poll: FencedPoll, items: readonly ListedItem[], isWholeBlock: boolean): Promise<RecordCounts> {
    const before = { ...poll };
    // Filters before the transaction, because a chunk with nothing new must not take the owing lock.
    const known = await poll.fence.read(this.#access, (tx) => leadsOf(tx, poll, items));
    const news = items.filter(
      (item) =>
        item.id === undefined ||
        (item.kind === 'rejected' && !isWholeBlock) ||
        !isKnown(poll, known.get(item.id), item.hash),
    );
    if (news.length > 0) await this.#add(poll, news);
    return {
      listed: items.length,
      new: poll.new - before.new,
      changed: poll.changed - before.changed,
      rejected: poll.rejected - before.rejected,
    };
  }

  async #add(poll: FencedPoll, items: readonly ListedItem[]): Promise<void> {
    try {
      const chunk = await poll.fence.keep((passFence) =>
        this.#access.owe(async (tx) => {
          await passFence(tx);
          const chunk = new Chunk(poll, await knownOf(tx, poll, items));
          for (const item of items) chunk.add(item);
          await write(tx, poll, chunk);
          reach('recording');
          return chunk;
        }),
      );
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
    const { chunk, accepted } = await poll.fence.keep((passFence) =>
      this.#access.owe(async (tx) => {
        await passFence(tx);
        const stored = await tx.rows(REJECTED_CONTENTS, [rows.map(({ rejected_id }) => rejected_id)]);
        const contents = rows.flatMap(({ rejected_id, id }) => {
          const content = stored.find((row) => row.rejected_id === rejected_id);
          return content ? [{ ...content, id: BigInt(id), facts: factsOf(content.raw) }] : [];
        });
        const chunk = new Chunk(poll, await knownOf(tx, poll, contents));
        const accepted = contents.filter(({ id }) => chunk.isKnown(id));
        for (const content of accepted) chunk.accept(content);
        await write(tx, poll, chunk);
        await tx.run(RESOLVE, [tx.now, accepted.map(({ rejected_id }) => rejected_id)]);
        return { chunk, accepted };
      }),
    );
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

async function leadsOf(
  tx: Transaction,
  { source }: OpenPoll,
  items: readonly { readonly id: LeadId | undefined }[],
): Promise<Map<LeadId, LeadRow>> {
  const ids = [...new Set(items.flatMap(({ id }) => id ?? []))];
  const rows = ids.length > 0 ? await tx.rows(LEADS, [source, ids]) : [];
  return new Map(rows.map((row) => [BigInt(row.id), row]));
}

type KnownContent = Pick<Content, 'hash'> & { readonly id: LeadId | undefined };

/** Reads what the ledger knows about the elements of a chunk, and takes as many version numbers as the chunk may need. */
async function knownOf(tx: Transaction, poll: OpenPoll, items: readonly KnownContent[]) {
  const leads = await leadsOf(tx, poll, items);
  const outdated = items.flatMap(({ id, hash }) => {
    const row = id === undefined ? undefined : leads.get(id);
    return row && row.erased_no === null && row.hash !== hash ? [row.version_no] : [];
  });
  const contents = [...new Set(outdated)];
  const unknown = new Set(items.flatMap(({ id }) => (id === undefined || leads.has(id) ? [] : [id])));
  const needed = unknown.size + contents.length;
  return {
    leads: [...leads.values()],
    rejected: await tx.rows(REJECTED, [poll.source, texts(items.map(({ hash }) => hash))]),
    contents: contents.length > 0 ? await tx.rows(CONTENTS, [contents]) : [],
    numbers: needed > 0 ? (await tx.rows(NUMBERS, [needed])).map(({ no }) => no) : [],
    now: tx.now,
  };
}

/** Writes what a chunk decided: one statement for each kind of change. */
async function write(tx: Transaction, poll: OpenPoll, chunk: Chunk): Promise<void> {
  await addVersions(tx, poll, chunk);
  await changeLeads(tx, poll, chunk);
  await reject(tx, poll, chunk);
  const owes = chunk.versions.length > 0;
  const sinks = owes ? (await allSinks(tx)).filter(({ active }) => active) : [];
  await oweCreated(tx, sinks, chunk);
  await oweUpdated(tx, sinks, chunk.updated);
  await oweRestored(
    tx,
    chunk.restored.map(({ versionNo }) => versionNo),
  );
  const added = chunk.old.length + chunk.fresh.length;
  const firstListedAt = poll.oldBefore === Number.POSITIVE_INFINITY ? tx.now : null;
  const counts = [added, added + chunk.back.length];
  await tx.run(COUNT_LEADS, [poll.source, ...counts, chunk.clearsMark, firstListedAt]);
}

async function addVersions(tx: Transaction, poll: OpenPoll, { versions }: Chunk): Promise<void> {
  if (versions.length === 0) return;
  const { slugs, createdAt, readable, safe } = factsColumns(versions);
  await tx.run(ADD_VERSIONS, [
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
  await tx.run(ADD_LEADS, [
    poll.source,
    added.map(({ id }) => id),
    added.map(({ versionNo }) => versionNo),
    texts(added.map(({ hash }) => hash)),
  ]);
}

async function changeLeads(tx: Transaction, poll: OpenPoll, chunk: Chunk): Promise<void> {
  const touched = [...chunk.touched];
  if (touched.length > 0)
    await tx.run(CHANGE_LEADS, [
      poll.source,
      touched.map(([id]) => id),
      touched.map(([, row]) => row.version_no),
      touched.map(([, row]) => row.version),
      texts(touched.map(([, row]) => row.hash)),
    ]);
  if (chunk.back.length > 0) await tx.run(RECORD_PRESENCE, [poll.source, chunk.back, null, tx.now]);
  if (chunk.ignored.length > 0) await tx.run(COUNT_IGNORED, [chunk.ignored]);
  if (chunk.restored.length === 0) return;
  const { slugs, createdAt, readable, safe } = factsColumns(chunk.restored);
  await tx.run(RESTORE_TEXTS, [
    chunk.restored.map(({ versionNo }) => versionNo),
    texts(chunk.restored.map(({ raw }) => raw)),
    texts(slugs),
    createdAt,
    texts(readable),
    texts(safe),
  ]);
}

async function reject(tx: Transaction, poll: OpenPoll, chunk: Chunk): Promise<void> {
  const items = [...chunk.rejections.values()];
  if (items.length === 0) return;
  await tx.run(REJECT, [
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

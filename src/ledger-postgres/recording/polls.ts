import type { ListingMarker } from '../../leads/listing-marker.ts';
import type { PollEnd, PollSummary } from '../../ledger/contract/ledger-polling.ts';
import type { PollId } from '../../ledger/contract/status-rows.ts';
import { IdSet } from '../../ledger/recording/id-set.ts';
import { type BlockMemory, PollBlocks } from '../../ledger/recording/poll-blocks.ts';
import { oldBefore } from '../../ledger/rules/recording/listed-content.ts';
import { NO_REASONS } from '../../ledger/rules/recording/rejection-reasons.ts';
import type { PostgresAccess } from '../database/postgres-access.ts';
import type { Transaction } from '../database/transaction.ts';
import { recordClock } from '../delivering/clock-setting.ts';
import type { ServerClock } from '../delivering/server-clock.ts';
import { endPoll } from './ending-polls.ts';
import { Fence, requireDuty } from './poll-fence.ts';
import { type AddedPoll, pollsSql, type ValidAgain } from './polls-sql.ts';
import type { FencedPoll, Recording } from './recording.ts';
import { recordingSql } from './recording-sql.ts';

const {
  ADD_POLL,
  ADD_SOURCE,
  FAIL_UNFINISHED,
  LAST_POLL,
  LESS_CURRENT,
  LISTED_AFTER,
  LOCK_SOURCE,
  PASS_NUMBERS,
  RENUMBER,
  SET_ORIGIN,
  SOURCE,
  UNLIST,
  VALID_AGAIN,
} = pollsSql;

const { RECORD_PRESENCE, RESOLVE } = recordingSql;

/** The blocks of a source's last complete listing, and the poll after which this process remembered them. */
interface RememberedBlocks {
  readonly memory: BlockMemory;
  readonly poll: PollId;
  readonly token: string;
  readonly parts: number;
  readonly status: PollEnd['status'];
}

interface Beginning {
  readonly remembered: RememberedBlocks | undefined;
  /** The highest number of a poll of this process. */
  readonly lastId: PollId;
  /** The token of the duty to poll the source, if the process polls by its duties. */
  readonly duty: string | undefined;
}

const FIRST_ID = -(2n ** 63n);
/** The place of a rejected content in the order of `VALID_AGAIN`. */
type RejectedPlace = readonly [lead: bigint, row: number];

const FIRST_REJECTED: RejectedPlace = [FIRST_ID, 0];
/** Maximum number of rejected contents that one transaction reads, and of those that one resolves. */
const REJECTED_CHUNK = 1_000;

/** The polls of each source. A source has one running poll at a time, of whichever process. */
export class Polls {
  readonly #access: PostgresAccess;
  readonly #recording: Recording;
  readonly #serverClock: ServerClock;
  /** The running polls of this process, which issues each number only once: see `begin`. */
  readonly #open = new Map<PollId, FencedPoll>();
  #lastId: PollId = 0;
  readonly #blocks = new Map<string, RememberedBlocks>();

  constructor(access: PostgresAccess, recording: Recording, serverClock: ServerClock) {
    this.#access = access;
    this.#recording = recording;
    this.#serverClock = serverClock;
  }

  /** Returns the marker as it was when the running poll of the source began. A poll whose listing has the marker relies on it. */
  async listingMark(source: string): Promise<ListingMarker | undefined> {
    const poll = this.#openOf(source);
    // What the poll's first transaction has read, until the poll writes anything.
    if (poll?.fence.parts === 0) return toMarker(poll.mark);
    const read = (tx: Transaction) => tx.first(SOURCE, [source]);
    return toMarker((await (poll ? poll.fence.read(this.#access, read) : this.#access.read(read)))?.mark);
  }

  #openOf(source: string): FencedPoll | undefined {
    return [...this.#open.values()].find((open) => open.source === source);
  }

  async lastCompleteAt(source: string): Promise<Date | undefined> {
    const row = await this.#access.read((tx) => tx.first(SOURCE, [source]));
    return row?.complete_at == null ? undefined : new Date(row.complete_at);
  }

  /**
   * Stores the origin of a source, unless the source has leads from another origin. Forgets the listings from the previous origin, which were
   * all empty, so that the leads in the first listing from the new origin count as old. Returns the stored origin.
   */
  async recordOrigin(source: string, origin: string): Promise<string> {
    const poll = this.#openOf(source);
    if (poll?.origin === origin) return origin;
    const { stored, forgets } = await this.#access.owe(async (tx) => {
      await tx.rows(LOCK_SOURCE, [source]);
      const { origin: kept = null, leads = 0 } = (await tx.first(SOURCE, [source])) ?? {};
      if (kept === origin || (kept !== null && leads > 0)) return { stored: kept, forgets: false };
      await tx.run(SET_ORIGIN, [source, origin, kept !== null]);
      return { stored: origin, forgets: kept !== null };
    });
    if (poll && forgets) Object.assign(poll, { oldBefore: Number.POSITIVE_INFINITY, mark: null });
    return stored;
  }

  /** Removes the stored origin of a source. Returns false if there is no such source. */
  async forgetOrigin(source: string): Promise<boolean> {
    const forgotten = await this.#access.write((tx) => tx.run(SET_ORIGIN, [source, null, false]));
    const poll = this.#openOf(source);
    if (poll) poll.origin = null;
    return forgotten > 0;
  }

  /** Starts a poll, and ends an unfinished poll of the same source. @throws LedgerError `fenced` unless `duty` is the token of the source's duty */
  async start(source: string, duty?: string): Promise<PollId> {
    for (const poll of this.#open.values()) if (poll.source === source) this.#open.delete(poll.id);
    const remembered = this.#blocks.get(source);
    // If this poll records a part of the listing and then fails, the next poll cannot rely on these blocks.
    this.#blocks.delete(source);
    const poll = await this.#access.trackRecovery(
      this.#serverClock.inStep((tx) => begin(tx, source, { remembered, lastId: this.#lastId, duty })),
    );
    this.#lastId = Math.max(this.#lastId, poll.id);
    this.#open.set(poll.id, poll);
    return poll.id;
  }

  /** Returns a running poll. @throws Error if the poll is not running, which is an error of the caller */
  get(id: PollId): FencedPoll {
    const poll = this.#open.get(id);
    if (!poll) throw new Error(`poll ${id} is not running`);
    return poll;
  }

  /** Finishes a poll. Marks leads as gone in chunks. */
  async finish(id: PollId, end: PollEnd): Promise<PollSummary> {
    const poll = this.get(id);
    const { memory, isSame } = poll.blocks.end();
    const status = end.status === 'success' && isSame ? 'unchanged' : end.status;
    if (status === 'success') {
      await this.#recording.acceptUndecided(poll);
      await this.#followListing(poll);
    }
    const listed = status === 'unchanged' ? poll.listedBefore : poll.seen.size;
    await poll.fence.keep(this.#access, async (tx) => endPoll(tx, poll, end, { status, listed }));
    this.#open.delete(id);
    const kept = end.status === 'success' ? memory : poll.seen.size === 0 ? poll.blocks.last : undefined;
    const { parts, token } = poll.fence;
    if (kept) this.#blocks.set(poll.source, { memory: kept, poll: id, token, parts, status });
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

  /** Marks leads as gone if the listing of the poll no longer contains them, and resolves rejected contents of leads that it contains as valid. */
  async #followListing(poll: FencedPoll): Promise<void> {
    const { source, seen } = poll;
    const [row, rejected] = await poll.fence.read(this.#access, (tx) =>
      Promise.all([tx.first(SOURCE, [source]), validAgain(tx, poll, FIRST_REJECTED)]),
    );
    const isWhole = seen.size === row?.current;
    if (!isWhole) await this.#markUnlisted(poll);
    await this.#resolveRejected(poll, isWhole ? rejected : undefined);
  }

  /** @param first the first rows that `validAgain` finds, if they have been read */
  async #resolveRejected(poll: FencedPoll, first: readonly ValidAgain[] | undefined): Promise<void> {
    let found = first;
    for (let after: RejectedPlace | undefined = FIRST_REJECTED; after !== undefined; found = undefined) {
      const from: RejectedPlace = after;
      const rows = found ?? (await this.#access.read((tx) => validAgain(tx, poll, from)));
      const valid = rows.filter((row) => row.valid).map(({ rejected_id }) => rejected_id);
      if (valid.length > 0)
        await poll.fence.keep(this.#access, async (tx) => tx.later(RESOLVE, [tx.now, valid]));
      const last = rows.length < REJECTED_CHUNK ? undefined : rows.at(-1);
      after = last && [BigInt(last.lead_id), last.rejected_id];
    }
  }

  /** Marks leads as gone if this listing no longer contains them. Removes nothing. */
  async #markUnlisted(poll: FencedPoll): Promise<void> {
    const { source, seen } = poll;
    for (let after: bigint | undefined = FIRST_ID; after !== undefined; ) {
      const from: bigint = after;
      const rows = await poll.fence.read(this.#access, (tx) => tx.rows(LISTED_AFTER, [source, from]));
      const missing = rows.filter((row) => !seen.has(row.first_no)).map(({ id }) => BigInt(id));
      if (missing.length > 0) await this.#unlist(poll, missing);
      const last = rows.at(-1);
      after = last && BigInt(last.id);
    }
  }

  async #unlist(poll: FencedPoll, missing: readonly bigint[]): Promise<void> {
    poll.blocks.forgetLast();
    await poll.fence.keep(this.#access, async (tx) => {
      const lastListedAt = poll.completeBefore ?? tx.now;
      tx.later(UNLIST, [poll.source, missing, lastListedAt]);
      tx.later(RECORD_PRESENCE, [poll.source, missing, lastListedAt, tx.now]);
      tx.later(LESS_CURRENT, [poll.source, missing.length]);
    });
  }
}

/**
 * Records a new poll. Forgets the remembered blocks if another poll has begun since, perhaps of another process, or if the ledger was set back:
 * leads may have changed since.
 */
async function begin(
  tx: Transaction,
  source: string,
  { remembered, lastId, duty }: Beginning,
): Promise<FencedPoll> {
  // In one flight, in this order.
  const [, , , , last, row, , added] = await Promise.all([
    recordClock(tx),
    tx.run(ADD_SOURCE, [source]),
    tx.rows(LOCK_SOURCE, [source]),
    duty === undefined ? undefined : requireDuty(tx, source, duty),
    tx.first(LAST_POLL, [source]),
    tx.first(SOURCE, [source]),
    tx.run(FAIL_UNFINISHED, [source, tx.now]),
    tx.first(ADD_POLL, [source, tx.now]),
  ]);
  const isCurrent =
    last?.poll_id === remembered?.poll &&
    last?.token === remembered?.token &&
    last?.parts === remembered?.parts &&
    last?.status === remembered?.status;
  const { poll_id, token } = added as AddedPoll;
  const id = poll_id > lastId ? poll_id : await renumber(tx, poll_id, lastId);
  return {
    id,
    source,
    fence: new Fence({ id, source, token }),
    oldBefore: oldBefore(row),
    listedBefore: row?.listed ?? 0,
    completeBefore: row?.complete_at ?? null,
    mark: row?.mark ?? null,
    origin: row?.origin ?? null,
    lookedUp: undefined,
    seen: new IdSet(),
    undecided: new IdSet(),
    blocks: new PollBlocks(isCurrent ? remembered?.memory : undefined),
    rejectedFor: NO_REASONS,
    new: 0,
    changed: 0,
    rejected: 0,
  };
}

/**
 * Gives a poll a number that is higher than all that this process had before, which the next one is not if the ledger was set back: the process knows its
 * polls by their numbers.
 */
async function renumber(tx: Transaction, given: PollId, lastId: PollId): Promise<PollId> {
  await tx.rows(PASS_NUMBERS, [lastId - given]);
  return (await tx.first(RENUMBER, [given]))?.poll_id as PollId;
}

/** Returns rejected contents after a place, with whether the listing of the poll contains their leads as valid. */
function validAgain(tx: Transaction, { source, id }: FencedPoll, after: RejectedPlace) {
  return tx.rows(VALID_AGAIN, [source, id, ...after, REJECTED_CHUNK]);
}

function toMarker(mark: string | null | undefined): ListingMarker | undefined {
  return mark ? (JSON.parse(mark) as ListingMarker) : undefined;
}

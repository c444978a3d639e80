import type { ContentFacts } from '../../leads/content-facts.ts';
import type { LeadId } from '../../leads/lead.ts';
import type { ListedItem, ListedLead, RejectedLead } from '../../leads/listed-lead.ts';
import type { OpenPoll } from '../../ledger/recording/open-poll.ts';
import type { NewestVersion } from '../../ledger/rules/delivering/superseding.ts';
import { changedFields } from '../../ledger/rules/recording/changed-fields.ts';
import { isOld, REPEATED } from '../../ledger/rules/recording/listed-content.ts';
import { type RejectionReasons, withReason } from '../../ledger/rules/recording/rejection-reasons.ts';
import { withLargeNumbersAsStrings } from './numbers-as-strings.ts';
import type { LeadRow, RejectedRow } from './recording-sql.ts';

/** New content of a known lead. */
export type Content = Pick<ListedLead, 'id' | 'hash' | 'raw' | 'facts'>;

/** A version to store. */
export interface NewVersion extends Content {
  readonly versionNo: number;
  readonly version: number;
  readonly firstSeenAt: number;
  readonly changedFields: readonly string[] | null;
}

/** What the ledger knows about the elements of a chunk, as read in the transaction that records them. */
interface Known {
  readonly leads: readonly LeadRow[];
  readonly rejected: readonly RejectedRow[];
  readonly contents: readonly { version_no: number; raw: string; hash: string; first_seen_at: number }[];
  /** Numbers for new versions. */
  readonly numbers: readonly number[];
  readonly now: number;
}

/**
 * Decides what is recorded of a chunk of a listing, element by element, as later elements depend on earlier ones. Writes nothing: `apply` takes
 * over the result into the poll once the transaction that recorded it is committed.
 */
export class Chunk {
  readonly versions: NewVersion[] = [];
  readonly rejections = new Map<string, RejectedLead>();
  /** The new leads: those that were listed before the sinks were configured, and the others. */
  readonly old: number[] = [];
  readonly fresh: number[] = [];
  /** The changed leads, and the rows of all known leads that are to be written. */
  readonly updated: NewestVersion[] = [];
  readonly touched = new Map<LeadId, LeadRow>();
  /** Versions that lost their text to damage and are listed again. */
  readonly restored: (Content & { readonly versionNo: number })[] = [];
  readonly back: LeadId[] = [];
  /** The erasures whose leads are listed with new content. */
  readonly ignored: number[] = [];
  readonly #poll: OpenPoll;
  readonly #now: number;
  readonly #leads: Map<LeadId, LeadRow>;
  readonly #rejected: Map<string, RejectedRow>;
  readonly #contents: Map<number, { raw: string; hash: string; first_seen_at: number }>;
  readonly #numbers: readonly number[];
  readonly #seen = new Set<number>();
  readonly #undecided = new Set<number>();
  readonly #changed: number[] = [];
  readonly #inBlock: number[] = [];
  #taken = 0;
  #rejections = 0;
  #rejectedFor: RejectionReasons;

  constructor(poll: OpenPoll, { leads, rejected, contents, numbers, now }: Known) {
    this.#poll = poll;
    this.#now = now;
    this.#leads = new Map(leads.map((row) => [BigInt(row.id), { ...row }]));
    this.#rejected = new Map(rejected.map((row) => [row.hash, row]));
    this.#contents = new Map(contents.map((row) => [row.version_no, row]));
    this.#numbers = numbers;
    this.#rejectedFor = poll.rejectedFor;
  }

  /** Whether a lead changed, or is listed again, so that the marker of the last listing no longer holds. */
  get clearsMark(): boolean {
    return this.updated.length > 0 || this.back.length > 0;
  }

  add(item: ListedItem): void {
    if (item.kind === 'rejected') {
      this.#reject(item);
      return;
    }
    const row = this.#leads.get(item.id);
    if (row) this.#addKnown(item, row);
    else this.#addNew(item);
  }

  /** Takes over what was recorded into the poll. */
  apply(): void {
    const poll = this.#poll;
    for (const lead of this.#seen) poll.seen.add(lead);
    for (const lead of this.#undecided) poll.undecided.add(lead);
    for (const lead of this.#changed) poll.blocks.changed(lead);
    for (const lead of this.#inBlock) poll.blocks.seen(lead);
    poll.new += this.old.length + this.fresh.length;
    poll.changed += this.updated.length;
    poll.rejected += this.#rejections;
    poll.rejectedFor = this.#rejectedFor;
  }

  /** Records content of a known lead that was set aside as a repeat of its id. */
  accept(content: Content): void {
    const row = this.#leads.get(content.id);
    if (!row || row.erased_no !== null) return;
    this.#change(content, row);
  }

  /** Whether the lead is known and not erased. */
  isKnown(id: LeadId): boolean {
    return this.#leads.get(id)?.erased_no === null;
  }

  #addKnown(lead: ListedLead, row: LeadRow): void {
    const first = row.first_no;
    if (row.erased_no !== null) this.#addErased(lead, row, row.erased_no);
    else if (row.hash !== lead.hash) {
      const undecided = !this.#isSeen(first) && this.#isBarred(lead);
      if (undecided && !this.#poll.undecided.has(first)) this.#undecided.add(first);
      if (undecided || this.#isSeen(first))
        this.#reject({ ...lead, kind: 'rejected', reason: REPEATED, path: 'id' });
      else {
        this.#change(lead, row);
        this.#inBlock.push(first);
      }
    } else this.#inBlock.push(first);
    this.#seen.add(first);
    if (row.last_listed_at === null) return;
    row.last_listed_at = null;
    this.touched.set(lead.id, row);
    this.back.push(lead.id);
  }

  /** Ignores the content of an erased lead. Stores only the hash of new content, so that the next polls treat that content as known. */
  #addErased(lead: ListedLead, row: LeadRow, erasedNo: number): void {
    if (row.hash !== lead.hash && !this.#isSeen(row.first_no)) {
      row.hash = lead.hash;
      this.touched.set(lead.id, row);
      this.ignored.push(erasedNo);
    }
    this.#inBlock.push(row.first_no);
  }

  #addNew(lead: ListedLead): void {
    const { id, hash, raw, facts } = lead;
    const versionNo = this.#nextNumber();
    this.versions.push({
      id,
      hash,
      raw,
      facts,
      versionNo,
      version: 1,
      firstSeenAt: this.#now,
      changedFields: null,
    });
    this.#leads.set(id, {
      id: String(id),
      version_no: versionNo,
      first_no: versionNo,
      version: 1,
      hash,
      last_listed_at: null,
      erased_no: null,
    });
    (isOld(facts, this.#poll.oldBefore) ? this.old : this.fresh).push(versionNo);
    this.#seen.add(versionNo);
    this.#inBlock.push(versionNo);
  }

  #change(content: Content, row: LeadRow): void {
    const { id, hash, raw, facts } = content;
    const last = this.#contents.get(row.version_no);
    if (!last) throw new Error('the content of a known lead was not read');
    row.hash = hash;
    this.touched.set(id, row);
    if (last.hash === hash) {
      this.restored.push({ id, hash, raw, facts, versionNo: row.version_no });
      return;
    }
    row.version += 1;
    row.version_no = this.#nextNumber();
    const common = { id, hash, raw, facts, versionNo: row.version_no, version: row.version };
    this.versions.push({
      ...common,
      firstSeenAt: last.first_seen_at,
      changedFields: changedFields(last.raw, raw),
    });
    this.updated.push({ versionNo: row.version_no, source: this.#poll.source, id });
    this.#changed.push(row.first_no);
  }

  #reject(item: RejectedLead): void {
    const isErased = item.id !== undefined && this.#leads.get(item.id)?.erased_no != null;
    const { id, hash, path } = item;
    const [before, known] = [this.rejections.get(hash), this.#rejected.get(hash)];
    this.rejections.set(hash, {
      ...item,
      id: id ?? before?.id,
      raw: isErased || before?.raw === '' ? '' : item.raw,
    });
    const has_id = id !== undefined || known?.has_id === true;
    this.#rejected.set(hash, { hash, erased: isErased || known?.erased === true, open: true, path, has_id });
    this.#rejections += 1;
    this.#rejectedFor = withReason(this.#rejectedFor, item);
  }

  /**
   * Whether this content must not be recorded now, although it is valid: it was rejected because a listing contained the lead's id more than
   * once, with different content, or its text was erased while it was rejected.
   */
  #isBarred({ hash }: ListedLead): boolean {
    const row = this.#rejected.get(hash);
    return row !== undefined && (row.erased || (row.open && row.path === 'id' && row.has_id));
  }

  #isSeen(lead: number): boolean {
    return this.#poll.seen.has(lead) || this.#seen.has(lead);
  }

  #nextNumber(): number {
    const number = this.#numbers[this.#taken];
    if (number === undefined) throw new Error('too few numbers for new versions');
    this.#taken += 1;
    return number;
  }
}

/** Returns the columns that are derived from leads' texts, each as a list. */
export function factsColumns(contents: readonly { readonly raw: string; readonly facts: ContentFacts }[]) {
  return {
    slugs: contents.map(({ facts }) => facts.serviceSlug),
    createdAt: contents.map(({ facts }) => facts.createdAtMs),
    readable: contents.map(({ facts }) => facts.readable),
    safe: contents.map(({ raw, facts }) => {
      const text = facts.safeRaw ?? raw;
      return withLargeNumbersAsStrings(text) ?? facts.safeRaw;
    }),
  };
}

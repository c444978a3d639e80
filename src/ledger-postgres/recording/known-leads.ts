import type { LeadId } from '../../leads/lead.ts';
import type { OpenPoll } from '../../ledger/recording/open-poll.ts';
import type { Asked } from '../database/flight.ts';
import { askAllSinks, type RawSink, toSink } from '../database/sinks.ts';
import { texts } from '../database/statement.ts';
import type { Transaction } from '../database/transaction.ts';
import { type LeadRow, type RejectedRow, recordingSql } from './recording-sql.ts';

const { CONTENTS, LEADS, NUMBERS, REJECTED } = recordingSql;

/** Known leads by their ids. */
export type Known = ReadonlyMap<LeadId, LeadRow>;

/** Returns rows of known leads by the ids of the leads. */
export function byId(rows: readonly LeadRow[]): Known {
  return new Map(rows.map((row) => [BigInt(row.id), row]));
}

/** The id of an element of a listing, if it has one, and the hash of its content. */
type KnownContent = { readonly id: LeadId | undefined; readonly hash: string };

/** Returns the statement that reads the leads of the items, as far as they are known. */
export function askLeads({ source }: OpenPoll, items: readonly Pick<KnownContent, 'id'>[]): Asked<LeadRow> {
  return { sql: LEADS, values: [source, [...new Set(items.flatMap(({ id }) => id ?? []))]] };
}

/** The statements that read what has to be known about the elements of a chunk. */
interface KnownQuestions {
  readonly leads: Asked<LeadRow>;
  readonly rejected: Asked<RejectedRow>;
  readonly sinks: Asked<RawSink>;
}

/** Returns the statements whose answers `knownOf` needs. */
export function askKnown(poll: OpenPoll, items: readonly KnownContent[]): KnownQuestions {
  return {
    leads: askLeads(poll, items),
    rejected: { sql: REJECTED, values: [poll.source, texts(items.map(({ hash }) => hash))] },
    sinks: askAllSinks(),
  };
}

/** Returns what the ledger knows about the elements of a chunk, with the configured sinks. Takes as many version numbers as the chunk may need. */
export async function knownOf(tx: Transaction, items: readonly KnownContent[], asked: KnownQuestions) {
  const [rows, rejected, sinks] = await Promise.all([
    tx.answer(asked.leads),
    tx.answer(asked.rejected),
    tx.answer(asked.sinks),
  ]);
  const leads = byId(rows);
  const outdated = items.flatMap(({ id, hash }) => {
    const row = id === undefined ? undefined : leads.get(id);
    return row && row.erased_no === null && row.hash !== hash ? [row.version_no] : [];
  });
  const contents = [...new Set(outdated)];
  const unknown = new Set(items.flatMap(({ id }) => (id === undefined || leads.has(id) ? [] : [id])));
  const needed = unknown.size + contents.length;
  const [stored, numbers] = await Promise.all([
    contents.length > 0 ? tx.rows(CONTENTS, [contents]) : [],
    needed > 0 ? tx.rows(NUMBERS, [needed]) : [],
  ]);
  return {
    leads: rows,
    rejected,
    sinks: sinks.map(toSink).filter(({ active }) => active),
    contents: stored,
    numbers: numbers.map(({ no }) => no),
    now: tx.now,
  };
}

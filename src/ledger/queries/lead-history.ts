import type Database from 'better-sqlite3';
import type { LeadId } from '../../leads/lead.ts';
import type {
  LeadContent,
  LeadHistory,
  StoredAnswer,
  StoredAttempt,
  StoredVersion,
} from '../contract/page-rows.ts';
import type { DeliveryList } from './delivery-list.ts';
import type { LeadList } from './lead-list.ts';

/** Maximum number of versions returned for a lead; the newest are returned. Hardly any lead has more. */
const MAX_VERSIONS = 1_000;
/** Maximum number of attempts returned for a delivery; the newest are returned. Hardly any delivery has more. */
const MAX_ATTEMPTS = 100;
/** Maximum number of answers from destinations returned for a lead; the newest are returned. An answer may be a few kilobytes long. */
const MAX_ANSWERS = 20;

/** The lists from which the history of a lead takes its first rows. */
interface Lists {
  readonly leads: LeadList;
  readonly deliveries: DeliveryList;
}

/** Reads what the ledger knows about one lead: versions, deliveries, attempts and contents. */
export class LeadHistories {
  readonly #leads: LeadList;
  readonly #deliveries: DeliveryList;
  readonly #sql;

  constructor(db: Database.Database, { leads, deliveries }: Lists) {
    this.#leads = leads;
    this.#deliveries = deliveries;
    this.#sql = prepare(db);
  }

  /** Returns the history of a lead; undefined if the ledger does not have the lead. */
  of(source: string, lead: LeadId): LeadHistory | undefined {
    const row = this.#leads.one(source, lead);
    if (!row) return undefined;
    return {
      lead: row,
      versions: this.#sql.versions.all(source, lead).map(({ changedFields, ...version }) => ({
        ...version,
        changedFields: changedFields === null ? null : JSON.parse(changedFields),
      })),
      deliveries: this.#deliveries.ofLead(lead, source).map(({ no, delivery }) => ({
        ...delivery,
        attemptRows: this.#sql.attempts.all(no).reverse(),
      })),
    };
  }

  /** Returns the content of a lead, or of one of its versions, and the destinations' answers to it, as `LedgerPages.content` describes. */
  content(source: string, lead: LeadId, version?: number, delivery?: string): LeadContent | undefined {
    const content = this.#sql.content.get({ source, lead, version: version ?? null });
    if (!content) return undefined;
    const { changedFields, ...kept } = content;
    return {
      ...kept,
      changedFields: changedFields === null ? null : JSON.parse(changedFields),
      answers: this.#answers(source, lead, { version, delivery }),
    };
  }

  #answers(
    source: string,
    lead: LeadId,
    of: { readonly version: number | undefined; readonly delivery: string | undefined },
  ): StoredAnswer[] {
    const meant = this.#deliveries
      .ofLead(lead, source)
      .filter(
        ({ delivery }) =>
          (of.version === undefined || delivery.version === of.version) &&
          (of.delivery === undefined || delivery.delivery === of.delivery),
      );
    const answers = meant.flatMap(({ no, delivery }) =>
      this.#sql.answers.all(no).map((row) => ({
        delivery: delivery.delivery,
        sink: delivery.sink,
        ...row,
      })),
    );
    return answers.sort((one, other) => other.startedAt - one.startedAt).slice(0, MAX_ANSWERS);
  }
}

const VERSION = 'v.version, v.valid_from AS validFrom, v.poll_id AS poll, v.changed_fields AS changedFields';

function prepare(db: Database.Database) {
  return {
    versions: db.prepare<
      [string, bigint],
      Omit<StoredVersion, 'changedFields'> & { changedFields: string | null }
    >(
      `SELECT ${VERSION} FROM _versions v WHERE source = ? AND id = ? ORDER BY version DESC LIMIT ${MAX_VERSIONS}`,
    ),
    content: db.prepare<
      [{ source: string; lead: bigint; version: number | null }],
      Omit<LeadContent, 'changedFields' | 'answers'> & { changedFields: string | null }
    >(
      `SELECT ${VERSION}, v.raw, b.raw AS rawBefore FROM _leads l
       JOIN _versions v ON v.source = l.source AND v.id = l.id AND v.version = coalesce(:version, l.version)
       LEFT JOIN _versions b ON b.source = v.source AND b.id = v.id AND b.version = v.version - 1
       WHERE l.source = :source AND l.id = :lead`,
    ),
    answers: db.prepare<[number], Omit<StoredAnswer, 'delivery' | 'sink'>>(
      `SELECT started_at AS startedAt, outcome, http_status AS httpStatus, answer FROM _attempts
       WHERE delivery_no = ? AND answer <> '' ORDER BY attempt_no DESC LIMIT ${MAX_ANSWERS}`,
    ),
    attempts: db.prepare<[number], StoredAttempt>(
      `SELECT started_at AS startedAt, duration_ms AS durationMs, outcome, http_status AS httpStatus, error, times,
       last_at AS lastAt FROM _attempts WHERE delivery_no = ? ORDER BY attempt_no DESC LIMIT ${MAX_ATTEMPTS}`,
    ),
  };
}

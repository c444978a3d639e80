import type Database from 'better-sqlite3';
import type { LeadId } from '../../leads/lead.ts';
import type { LedgerPages } from '../contract/ledger-pages.ts';
import type { ActionFilter, DeliveryFilter } from '../contract/ledger-queries.ts';
import type {
  Count,
  FoundLeads,
  LeadContent,
  LeadHistory,
  LeadRow,
  LeadSearch,
  Page,
  PersonSearch,
  PollSearch,
  RejectedCount,
  RejectedSearch,
  RejectedText,
  Rows,
  Speed,
  StoredAnswer,
  StoredAttempt,
  StoredPoll,
  StoredRejection,
  StoredVersion,
} from '../contract/page-rows.ts';
import type { ActivityRequest, FailureReasons, SinkActivity, SinkTotals } from '../contract/sink-activity.ts';
import type { DeliveryRow, LedgerStatus, Upcoming } from '../contract/status-rows.ts';
import { SinkRows } from '../database/sink-rows.ts';
import { cursorOf, orderOf } from '../rules/queries/keyset-page.ts';
import { DeliveryList } from './delivery-list.ts';
import { FindLeads } from './find-leads.ts';
import { LeadList } from './lead-list.ts';
import { Measures } from './lead-statistics.ts';
import { PollList } from './poll-list.ts';
import { RejectedList } from './rejected-list.ts';
import { SinkActivityQueries } from './sink-activity-queries.ts';
import { StatusQueries } from './status-queries.ts';
import { UpcomingDeliveries } from './upcoming.ts';

/** Maximum number of versions returned for a lead; the newest are returned. Hardly any lead has more. */
const MAX_VERSIONS = 1_000;
/** Maximum number of attempts returned for a delivery; the newest are returned. Hardly any delivery has more. */
const MAX_ATTEMPTS = 100;
/** Maximum number of answers from destinations returned for a lead; the newest are returned. An answer may be a few kilobytes long. */
const MAX_ANSWERS = 20;

/** The queries of the pages and the API on an SQLite connection. */
export class PageQueries implements LedgerPages {
  readonly #status: StatusQueries;
  readonly #activity: SinkActivityQueries;
  readonly #leads: LeadList;
  readonly #deliveries: DeliveryList;
  readonly #finding: FindLeads;
  readonly #polls: PollList;
  readonly #rejected: RejectedList;
  readonly #measures: Measures;
  readonly #upcoming: UpcomingDeliveries;
  readonly #sql;

  constructor(db: Database.Database) {
    const rows = new SinkRows(db);
    this.#status = new StatusQueries(db, rows);
    this.#activity = new SinkActivityQueries(db, rows);
    this.#leads = new LeadList(db);
    this.#deliveries = new DeliveryList(db);
    this.#finding = new FindLeads(db);
    this.#polls = new PollList(db, this.#status);
    this.#rejected = new RejectedList(db);
    this.#measures = new Measures(db);
    this.#upcoming = new UpcomingDeliveries(db);
    this.#sql = prepare(db);
  }

  status(): LedgerStatus {
    return this.#status.status();
  }

  sinkActivity(sink: string, request: ActivityRequest): SinkActivity | undefined {
    return this.#activity.of(sink, request);
  }

  attemptTotals(request: Omit<ActivityRequest, 'stepMs'>): readonly SinkTotals[] {
    return this.#activity.totals(request);
  }

  failureReasons(): FailureReasons {
    return this.#activity.failureReasons();
  }

  newLeads(now: Date, hours: number): { readonly hour: Date; readonly leads: number }[] {
    return this.#measures.newLeads(now, hours);
  }

  speed(since: Date): readonly Speed[] {
    return this.#measures.speed(since);
  }

  leads(search: LeadSearch, page: Page): Rows<LeadRow> {
    return this.#leads.page(search, page.limit, cursorOf(page), orderOf(page));
  }

  countLeads(search: LeadSearch, most: number): Count {
    return this.#leads.count(search, most);
  }

  services(most: number): readonly string[] {
    return this.#sql.services.all(most);
  }

  findLeads(search: PersonSearch, limit: number): FoundLeads {
    return this.#finding.find(search, limit);
  }

  lead(source: string, lead: LeadId): LeadHistory | undefined {
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

  upcoming(sink: string, source: string, lead: LeadId): Upcoming | undefined {
    return this.#upcoming.of(sink, lead, source)[0];
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

  deliveries(filter: DeliveryFilter, page: Page): Rows<DeliveryRow> {
    return this.#deliveries.page(filter, page.limit, cursorOf(page), orderOf(page));
  }

  countDeliveries(filter: ActionFilter, most: number): Count {
    return this.#deliveries.count(filter, most);
  }

  countDue(sink: string, now: Date, most: number): number {
    return this.#deliveries.countDue(sink, now, most);
  }

  polls(search: PollSearch, page: Page): Rows<StoredPoll> {
    return this.#polls.page(search, page.limit, cursorOf(page), orderOf(page));
  }

  countPolls(search: PollSearch, most: number): Count {
    return this.#polls.count(search, most);
  }

  rejected(search: RejectedSearch, page: Page): Rows<StoredRejection> {
    return this.#rejected.page(search, page.limit, cursorOf(page), orderOf(page));
  }

  countRejected(search: RejectedSearch, most: number): RejectedCount {
    return this.#rejected.count(search, most);
  }

  rejectedText(rejected: number): RejectedText | undefined {
    return this.#rejected.text(rejected);
  }
}

const VERSION = 'v.version, v.valid_from AS validFrom, v.poll_id AS poll, v.changed_fields AS changedFields';

function prepare(db: Database.Database) {
  return {
    // Jumps from each service to the next one in the index, however many leads a service has.
    services: db
      .prepare<[number], string>(
        `WITH RECURSIVE next(slug) AS (SELECT min(service_slug) FROM _versions
         UNION ALL SELECT (SELECT min(service_slug) FROM _versions WHERE service_slug > slug) FROM next WHERE slug IS NOT NULL)
         SELECT slug FROM next WHERE slug IS NOT NULL LIMIT ?`,
      )
      .pluck(),
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

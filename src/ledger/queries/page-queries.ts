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
  StoredPoll,
  StoredRejection,
} from '../contract/page-rows.ts';
import type { ActivityRequest, FailureReasons, SinkActivity, SinkTotals } from '../contract/sink-activity.ts';
import type { DeliveryRow, LedgerStatus, Upcoming } from '../contract/status-rows.ts';
import { SinkRows } from '../database/sink-rows.ts';
import { cursorOf, orderOf } from '../rules/queries/keyset-page.ts';
import { DeliveryList } from './delivery-list.ts';
import { FindLeads } from './find-leads.ts';
import { LeadHistories } from './lead-history.ts';
import { LeadList } from './lead-list.ts';
import { LeadStatistics } from './lead-statistics.ts';
import { PollList } from './poll-list.ts';
import { RejectedList } from './rejected-list.ts';
import { SinkActivityQueries } from './sink-activity-queries.ts';
import { StatusQueries } from './status-queries.ts';
import { UpcomingDeliveries } from './upcoming.ts';

/** The queries of the pages and the API on an SQLite connection. */
export class PageQueries implements LedgerPages {
  readonly #status: StatusQueries;
  readonly #activity: SinkActivityQueries;
  readonly #leads: LeadList;
  readonly #deliveries: DeliveryList;
  readonly #finding: FindLeads;
  readonly #polls: PollList;
  readonly #rejected: RejectedList;
  readonly #statistics: LeadStatistics;
  readonly #upcoming: UpcomingDeliveries;
  readonly #histories: LeadHistories;
  readonly #services;

  constructor(db: Database.Database) {
    const rows = new SinkRows(db);
    this.#status = new StatusQueries(db, rows);
    this.#activity = new SinkActivityQueries(db, rows);
    this.#leads = new LeadList(db);
    this.#deliveries = new DeliveryList(db);
    this.#finding = new FindLeads(db);
    this.#polls = new PollList(db, this.#status);
    this.#rejected = new RejectedList(db);
    this.#statistics = new LeadStatistics(db);
    this.#upcoming = new UpcomingDeliveries(db);
    this.#histories = new LeadHistories(db, { leads: this.#leads, deliveries: this.#deliveries });
    this.#services = servicesQuery(db);
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
    return this.#statistics.newLeads(now, hours);
  }

  speed(since: Date): readonly Speed[] {
    return this.#statistics.speed(since);
  }

  leads(search: LeadSearch, page: Page): Rows<LeadRow> {
    return this.#leads.page(search, page.limit, cursorOf(page), orderOf(page));
  }

  countLeads(search: LeadSearch, most: number): Count {
    return this.#leads.count(search, most);
  }

  services(most: number): readonly string[] {
    return this.#services.all(most);
  }

  findLeads(search: PersonSearch, limit: number): FoundLeads {
    return this.#finding.find(search, limit);
  }

  lead(source: string, lead: LeadId): LeadHistory | undefined {
    return this.#histories.of(source, lead);
  }

  content(source: string, lead: LeadId, version?: number, delivery?: string): LeadContent | undefined {
    return this.#histories.content(source, lead, version, delivery);
  }

  upcoming(sink: string, source: string, lead: LeadId): Upcoming | undefined {
    return this.#upcoming.of(sink, lead, source)[0];
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

function servicesQuery(db: Database.Database) {
  // Jumps from each service to the next one in the index, however many leads a service has.
  return db
    .prepare<[number], string>(
      `WITH RECURSIVE next(slug) AS (SELECT min(service_slug) FROM _versions
       UNION ALL SELECT (SELECT min(service_slug) FROM _versions WHERE service_slug > slug) FROM next WHERE slug IS NOT NULL)
       SELECT slug FROM next WHERE slug IS NOT NULL LIMIT ?`,
    )
    .pluck();
}

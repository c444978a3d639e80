import type { LeadId } from '../../leads/lead.ts';
import type { ActionFilter, DeliveryFilter } from './ledger-queries.ts';
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
} from './page-rows.ts';
import type { ActivityRequest, FailureReasons, SinkActivity, SinkTotals } from './sink-activity.ts';
import type { DeliveryRow, LedgerStatus, Upcoming } from './status-rows.ts';

/** The queries of the pages and the API. Each query reads one snapshot of the ledger and does a bounded amount of work. */
export interface LedgerPages {
  /** Returns the status of every source and sink that has ever been configured. */
  status(): LedgerStatus;
  /** Returns the activity of a sink in a period; undefined if the ledger does not know the sink. */
  sinkActivity(sink: string, request: ActivityRequest): SinkActivity | undefined;
  /** Returns the attempts of every sink in a period. Reads only sums: much less than `sinkActivity`. */
  attemptTotals(request: Omit<ActivityRequest, 'stepMs'>): readonly SinkTotals[];
  /** Like `LedgerQueries.failureReasons`. */
  failureReasons(): FailureReasons;
  /** Returns the number of new leads in each of the last hours. */
  newLeads(now: Date, hours: number): readonly { readonly hour: Date; readonly leads: number }[];
  /** Returns the delivery times of each sink for the leads that were first seen since a given time. */
  speed(since: Date): readonly Speed[];
  /** Returns a page of leads. */
  leads(search: LeadSearch, page: Page): Rows<LeadRow>;
  /** Counts leads, up to `most`. Stops earlier if it would have to read too many that do not match. */
  countLeads(search: LeadSearch, most: number): Count;
  /** Returns the services that leads are or were for, in alphabetical order, up to `most`. */
  services(most: number): readonly string[];
  /** Like `LedgerQueries.findLeads`. */
  findLeads(search: PersonSearch, limit: number): FoundLeads;
  /** Returns the history of a lead; undefined if the ledger does not have the lead. */
  lead(source: string, lead: LeadId): LeadHistory | undefined;
  /**
   * Returns the present content of a lead and the destinations' answers. With `version`, returns the content of that version and the answers to it.
   * With `delivery`, returns only the answers to that delivery. Undefined if the ledger has no such content.
   */
  content(source: string, lead: LeadId, version?: number, delivery?: string): LeadContent | undefined;
  /** Returns the next delivery of a lead to a sink, as `LedgerQueries.upcoming` describes; undefined if the lead has no content. */
  upcoming(sink: string, source: string, lead: LeadId): Upcoming | undefined;
  /** Returns a page of deliveries. */
  deliveries(filter: DeliveryFilter, page: Page): Rows<DeliveryRow>;
  /** Counts deliveries, up to `most`, the newest first. Stops earlier if it would have to read too many that do not match. */
  countDeliveries(filter: ActionFilter, most: number): Count;
  /** Like `LedgerQueries.countDue`. */
  countDue(sink: string, now: Date, most: number): number;
  /** Returns a page of polls. */
  polls(filter: PollSearch, page: Page): Rows<StoredPoll>;
  /** Counts polls, up to `most`. Stops earlier if it would have to read too many that do not match. */
  countPolls(search: PollSearch, most: number): Count;
  /** Returns a page of rejected leads, without their text. */
  rejected(search: RejectedSearch, page: Page): Rows<StoredRejection>;
  /** Counts rejected leads and their faults, up to `most` leads. Stops earlier if it would have to read too many that do not match. */
  countRejected(search: RejectedSearch, most: number): RejectedCount;
  /** Returns the text of a rejected lead, which is personal data; undefined if no rejected lead has this id. */
  rejectedText(rejected: number): RejectedText | undefined;
}

/** Runs one of the queries and returns its result. @throws LedgerError, LedgerBusy */
export type AskLedger = <Name extends keyof LedgerPages>(
  name: Name,
  ...args: Parameters<LedgerPages[Name]>
) => Promise<ReturnType<LedgerPages[Name]>>;

/** Runs the queries of the pages and the API, so that polls and deliveries never wait for such a query. */
export interface PageReader {
  readonly ask: AskLedger;
  /** Rejects the queries that have no result yet. */
  close(): Promise<void>;
}

/** The query has no result: it took too long, or the ledger could not be queried at all. */
export class LedgerBusy extends Error {
  override readonly name = 'LedgerBusy';
  readonly hint: string;

  constructor(
    message: string,
    hint = 'Narrow the request to one sink, one state or a shorter period, or try again in a moment.',
  ) {
    super(message);
    this.hint = hint;
  }
}

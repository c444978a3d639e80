import type { Alerts } from './alerts.ts';
import type { AuditFilter, AuditRow } from './audit.ts';
import type { Configuration, ReloadPreview, TestResult } from './configuration.ts';
import type {
  ActionTotals,
  DeliveryFilter,
  DeliveryRow,
  FailureReasons,
  ReplayCancellation,
  ReplayFilter,
  ReplayTotals,
} from './deliveries.ts';
import type { Content, FoundLeads, LeadDetail, LeadRow, LeadSearch, PersonSearch } from './leads.ts';
import type { LogFilter, LogLine } from './log.ts';
import type { Overview } from './overview.ts';
import type { PollFilter, PollRow } from './polls.ts';
import type { ExpressionLanguage, LeadPreviews, TriedExpression } from './previews.ts';
import type { RejectedContent, RejectedCount, RejectedFilter, RejectedRow } from './rejected.ts';
import type { Period, SinkDetail, SinkRow } from './sinks.ts';
import type { Count, Order } from './values.ts';

/** Result of a reload: the changes, or why nothing was applied. */
export type ReloadResult = { readonly applied: boolean; readonly generation: number } & Record<
  string,
  unknown
>;

/** Maximum number of rows that are counted. */
export const MAX_COUNTED = 10_000;

/** Maximum number of services that a filter offers. */
export const MAX_SERVICES = 200;

/** Maximum length of a text in a preview, in characters. The page and the API truncate longer texts. */
export const MAX_PREVIEWED = 100_000;

/** An expression to try. */
export interface ExpressionRequest {
  readonly expression: string;
  /** The sink whose `region` applies; undefined for none. */
  readonly sink: string | undefined;
  /** The lead; undefined for the sample lead, which is not personal data. */
  readonly lead: { readonly source: string; readonly lead: string } | undefined;
}

/** Ids of leads and of deliveries, as text; undefined if the filter names none. */
export interface Ids {
  readonly ids?: readonly string[] | undefined;
}

/** Maximum length of the note on a discarded delivery, in characters. */
export const MAX_NOTE = 200;

/** Selects a page: at most `limit` rows after the cursor `after`, which is the `next` of the previous page in the same order. */
export interface PageRequest {
  readonly limit: number;
  readonly after?: string | undefined;
  /** Which rows come first. Absent: the newest. The audit log and the search for a person have no other order. */
  readonly order?: Order | undefined;
}

/** What a run of an export or backup would remove now. */
export interface ExportPreview {
  /** Number of files that the option `keep` keeps; null if it is not set. */
  readonly keep: number | null;
  /** Paths or addresses of the files that the run would remove because of `keep`. */
  readonly removed: readonly string[];
  /** Why these files are not known, in a sentence; null if they are. */
  readonly unknown: string | null;
}

/**
 * A page of rows. `next` is the cursor of the following page, or null at the end. If a filter matches few rows, a page can be shorter than its
 * limit although more rows follow.
 */
export interface Page<Row> {
  readonly rows: readonly Row[];
  readonly next: string | null;
}

/**
 * Everything that the API and the pages can do. No operation delays deliveries, however large the ledger is. Any operation may throw a
 * `RequestError`, whose message and hint the client sees.
 */
export interface Operations {
  overview(): Promise<Overview>;
  leads(search: LeadSearch, page: PageRequest): Promise<Page<LeadRow>>;
  countLeads(search: LeadSearch): Promise<Count>;
  /** Returns the services that leads are or were for, in alphabetical order, at most `MAX_SERVICES`. */
  services(): Promise<readonly string[]>;
  /** Returns undefined if the source never listed the lead. */
  lead(source: string, lead: string): Promise<LeadDetail | undefined>;
  /**
   * Returns the personal data of one version of a lead, by default of the current version. With `delivery`, returns only the answers to this
   * delivery. Returns undefined if the ledger has no such lead or version. `withAudit` records the client before it calls this operation.
   */
  reveal(source: string, lead: string, version?: number, delivery?: string): Promise<Content | undefined>;
  /**
   * Returns the previews of a lead for each sink: personal data. Sends nothing. Returns undefined if the source never listed the lead. `withAudit`
   * records the client before it calls this operation.
   */
  previews(source: string, lead: string): Promise<LeadPreviews | undefined>;
  /**
   * Evaluates an expression for a lead, as a field of a sink's mapping would. Stores and sends nothing. For any lead but the sample lead, the
   * result is personal data, and `withAudit` records the client before it calls this operation.
   */
  tryExpression(request: ExpressionRequest): Promise<TriedExpression>;
  /** Returns what expressions may contain. */
  expressionLanguage(): Promise<ExpressionLanguage>;
  /**
   * Finds leads by a part of the client's name, email address or phone number: personal data. `withAudit` records the client, but not the search
   * text, before it calls this operation.
   */
  findLeads(search: PersonSearch, page: PageRequest): Promise<FoundLeads>;
  deliveries(filter: DeliveryFilter, page: PageRequest): Promise<Page<DeliveryRow>>;
  countDeliveries(filter: DeliveryFilter & Ids): Promise<Count>;
  /** Returns why deliveries are dead or failed, over all sinks. */
  failureReasons(): Promise<FailureReasons>;
  sinks(): Promise<readonly SinkRow[]>;
  /** Returns a sink and what it did in a period that ends now. Returns undefined if the sink is unknown. */
  sink(sink: string, period: Period): Promise<SinkDetail | undefined>;
  polls(filter: PollFilter, page: PageRequest): Promise<Page<PollRow>>;
  countPolls(filter: PollFilter): Promise<Count>;
  /** Returns the last lines of the log of this process, newest first. */
  log(filter: LogFilter): Promise<readonly LogLine[]>;
  /** Returns the conditions for alerts that hold or held recently, who was notified, and what comes next. */
  alerts(): Promise<Alerts>;
  /** Returns the leads that could not be recorded, without their texts. */
  rejected(filter: RejectedFilter, page: PageRequest): Promise<Page<RejectedRow>>;
  /** Returns the number of matching rejected leads, and of those with each fault. */
  countRejected(filter: RejectedFilter): Promise<RejectedCount>;
  /**
   * Returns the text of a rejected lead: personal data. Returns undefined if there is no rejected lead with this number. `withAudit` records the
   * client before it returns the text.
   */
  revealRejected(rejected: string): Promise<RejectedContent | undefined>;
  configuration(): Promise<Configuration>;
  /** Returns lines of the audit log. */
  audit(filter: AuditFilter, page: PageRequest): Promise<Page<AuditRow>>;
  countAudit(filter: AuditFilter): Promise<Count>;

  /** Makes matching dead or pending deliveries due now, and also discarded ones if the filter selects that state. Returns their number. */
  retry(filter: DeliveryFilter & Ids): Promise<number>;
  /** Counts the deliveries that `retry` would make due. */
  retriable(filter: DeliveryFilter & Ids): Promise<ActionTotals>;
  /** Discards the matching dead deliveries, with a note. Returns their number. */
  discard(filter: DeliveryFilter & Ids, note: string): Promise<number>;
  /** Counts the deliveries that `discard` would discard. */
  discardable(filter: DeliveryFilter & Ids): Promise<ActionTotals>;
  /** Counts the leads that `replayAll` would send. */
  replayable(sink: string, filter: ReplayFilter & Ids): Promise<ReplayTotals>;
  /** Creates replays of all matching leads for a sink. Returns their number. */
  replayAll(sink: string, filter: ReplayFilter & Ids): Promise<number>;
  /** Skips the pending deliveries that replays owe to a sink. Returns undefined if the sink is unknown. */
  cancelReplays(sink: string): Promise<ReplayCancellation | undefined>;
  /** Counts what `cancelReplays` would do. Returns undefined if the sink is unknown. */
  cancellable(sink: string): Promise<ReplayCancellation | undefined>;
  /** Creates a replay of a lead for a sink. Returns the number of new deliveries: 0 if the lead is unknown or its content is no longer stored. */
  replay(sink: string, source: string, lead: string): Promise<number>;
  /** Starts a poll of a source without waiting for its end. Returns false if a poll is already in progress; undefined if the source is unknown. */
  poll(source: string): Promise<boolean | undefined>;
  /** Returns what a run of a scheduled export or backup would remove now; undefined if it is not in the configuration in force. */
  previewExport(what: 'export' | 'backup', name: string): Promise<ExportPreview | undefined>;
  /**
   * Requests a run of a scheduled export or backup before it is due. It begins as soon as no other export or backup runs. Returns false if it is
   * running or was requested already; undefined if it is not in the configuration in force.
   */
  runExport(what: 'export' | 'backup', name: string): Promise<boolean | undefined>;
  /** Returns false if the sink is unknown. */
  pause(sink: string, reason: string): Promise<boolean>;
  /** Ends a pause, and makes the next probe of a held sink due now. Returns false if the sink is unknown. */
  resume(sink: string): Promise<boolean>;
  /** Sends one event that is marked as a test. Returns undefined if the sink is unknown. */
  test(sink: string): Promise<TestResult | undefined>;
  reload(): Promise<ReloadResult>;
  /**
   * Compares the file with the configuration in force. Changes nothing. `withPlan` adds the plan, which the ledger takes part in; otherwise it is
   * empty.
   */
  previewReload(withPlan?: boolean): Promise<ReloadPreview>;
}

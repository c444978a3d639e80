import type {
  Configuration,
  Content,
  DeliveryFilter,
  DeliveryRow,
  LeadDetail,
  LeadRow,
  LeadSearch,
  Overview,
  PollFilter,
  PollRow,
  SinkOverview,
  TestResult,
} from './model.ts';

/** What came of a reload: what has changed, or what is wrong with the configuration. */
export type ReloadResult = { readonly applied: boolean; readonly generation: number } & Record<
  string,
  unknown
>;

/** Deliveries are counted up to here: whoever shows a count that reaches it says "at least". */
export const MAX_COUNTED = 10_000;

/** Which rows: at most `limit`, after the page that gave `after` as its `next`. */
export interface PageRequest {
  readonly limit: number;
  readonly after?: string | undefined;
}

/** Rows, newest first; `next` goes on where they end, and is null at the end. Looking for the rare, a page may hold fewer rows than asked for, and yet have a `next`. */
export interface Page<Row> {
  readonly rows: readonly Row[];
  readonly next: string | null;
}

/**
 * Everything that the API and the pages can ask for. None of it holds up deliveries, however large the ledger is.
 * Each may throw a `Refusal`, whose message and hint are for whoever asks.
 */
export interface Operations {
  overview(): Promise<Overview>;
  leads(search: LeadSearch, page: PageRequest): Promise<Page<LeadRow>>;
  /** Undefined when the source has never listed it. */
  lead(source: string, lead: string): Promise<LeadDetail | undefined>;
  /** Personal data: `audited` writes down who asks before it is given. The present version when none is named. */
  reveal(source: string, lead: string, version?: number): Promise<Content | undefined>;
  deliveries(filter: DeliveryFilter, page: PageRequest): Promise<Page<DeliveryRow>>;
  /** How many deliveries a filter means, counted up to `MAX_COUNTED`. */
  countDeliveries(filter: DeliveryFilter): Promise<number>;
  sinks(): Promise<readonly SinkOverview[]>;
  polls(filter: PollFilter, page: PageRequest): Promise<Page<PollRow>>;
  configuration(): Promise<Configuration>;

  /** Makes dead or waiting deliveries due now. Gives how many. */
  retry(filter: DeliveryFilter): Promise<number>;
  /** Owes a lead to a sink once more. Gives how many deliveries: 0 when there is no such lead. */
  replay(sink: string, source: string, lead: string): Promise<number>;
  /** False when there is no such sink. */
  pause(sink: string, reason: string): Promise<boolean>;
  resume(sink: string): Promise<boolean>;
  /** Sends one clearly marked test event. Undefined when there is no such sink. */
  test(sink: string): Promise<TestResult | undefined>;
  reload(): Promise<ReloadResult>;
}

import { NEEDS_OPERATOR } from './events/source-events.ts';
import type { EventOf } from './events.ts';
import type { Instruments } from './instruments.ts';
import { withTimeout } from './with-timeout.ts';

const STATUSES = ['success', 'unchanged', 'partial', 'failed'];
const GRANTS = ['client_credentials', 'refresh_token', 'authorization_code'];
const POLL_SECONDS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600];

/** Functions that return values for the metrics of a source; called at each scrape. */
export interface SourceReaders {
  /** Returns the expiry of a source's access token. */
  readonly tokenExpiresAt: (source: string) => Date | undefined;
  /**
   * Returns when the first poll after the last complete one is due according to the source's schedule; undefined before the first complete poll. May
   * fail, if the ledger cannot be read.
   */
  readonly pollDueAt: (source: string) => Promise<Date | undefined>;
}

/** Metrics of each source. */
export class SourceMetrics {
  /** Names of the configured sources. */
  names: readonly string[];
  readonly #now: () => Date;
  readonly #listed;
  readonly #listing;
  readonly #listingRejected;
  readonly #new;
  readonly #changed;
  readonly #rejected;
  readonly #bytes;
  readonly #polls;
  readonly #duration;
  readonly #failing;
  readonly #refused;
  readonly #lastSuccess;
  readonly #renewals;

  /** @param patienceMs maximum time that a scrape waits for `pollDueAt`; then the metric keeps its last value */
  constructor(
    make: Instruments,
    sources: readonly string[],
    { tokenExpiresAt, pollDueAt }: SourceReaders,
    { now, patienceMs }: { readonly now: () => Date; readonly patienceMs: number },
  ) {
    const by = { source: sources };
    this.names = sources;
    this.#now = now;
    this.#listed = make.counter(
      'leadsync_leads_listed_total',
      'Leads read in listings; every poll counts all of them.',
      by,
    );
    this.#listing = make.unknownGauge(
      'leadsync_listing_leads',
      'Leads in the last complete listing; NaN until the first complete poll of this process.',
      by,
    );
    this.#listingRejected = make.unknownGauge(
      'leadsync_listing_rejected',
      "Rejected leads in the last complete listing, which do not match the service's API description; NaN until this process has read a listing to its end.",
      by,
    );
    this.#new = make.counter('leadsync_leads_new_total', 'New leads.', by);
    this.#changed = make.counter('leadsync_leads_changed_total', 'Leads whose content changed.', by);
    this.#rejected = make.counter(
      'leadsync_leads_rejected_total',
      "Leads rejected because they do not match the service's API description; every poll that reads the listing counts all of them.",
      by,
    );
    this.#bytes = make.counter('leadsync_listing_bytes_total', 'Bytes of listings, after decompression.', by);
    this.#polls = make.counter('leadsync_polls_total', 'Polls by status.', {
      ...by,
      status: STATUSES,
    });
    this.#duration = make.histogram('leadsync_poll_duration_seconds', 'Duration of polls.', by, POLL_SECONDS);
    this.#failing = make.gauge('leadsync_poll_failures_in_a_row', 'Consecutive failed polls.', by);
    this.#refused = make.gauge(
      'leadsync_source_refused',
      '1 while polls fail in a way that needs an operator: credentials, permissions, or another address.',
      by,
    );
    this.#lastSuccess = make.gauge(
      'leadsync_last_successful_poll_timestamp_seconds',
      'Time of the last complete poll of this process; 0 before the first.',
      by,
    );
    const due = make.unknownGauge(
      'leadsync_poll_due_timestamp_seconds',
      'When the first poll after the last complete one is due by `poll.every` or `poll.cron`, in the past if it is late; 0 before the first complete poll, NaN while the ledger cannot be read.',
      by,
      async () => {
        const read = async (source: string) => {
          const at = await withTimeout(patienceMs, () => pollDueAt(source));
          due.set({ source }, (at?.getTime() ?? 0) / 1000);
        };
        await Promise.allSettled(this.names.map(read)); // other metrics report a ledger that cannot be read
      },
    );
    this.#renewals = make.counter('leadsync_token_renewals_total', 'Access tokens received.', {
      ...by,
      grant: GRANTS,
    });
    make.gauge(
      'leadsync_token_expiry_timestamp_seconds',
      'Expiry of the current access token; 0 without one, or if the service did not state it.',
      by,
      (gauge) => {
        for (const source of this.names)
          gauge.set({ source }, (tokenExpiresAt(source)?.getTime() ?? 0) / 1000);
      },
    );
  }

  pollFinished(event: EventOf<'poll-finished'>): void {
    const { source, status } = event;
    this.#count(source, event);
    this.#listing.set({ source }, event.listed);
    // An unchanged listing is not read, so its poll rejects nothing. It still has the leads that were rejected before.
    if (status === 'success') this.#listingRejected.set({ source }, event.rejected);
    this.#polls.inc({ source, status });
    this.#duration.observe({ source }, event.durationMs / 1000);
    this.#failing.set({ source }, 0);
    this.#refused.set({ source }, 0);
    this.#lastSuccess.set({ source }, this.#now().getTime() / 1000);
  }

  pollFailed(event: EventOf<'poll-failed'>): void {
    const { source, status } = event;
    if (event.recorded !== undefined) this.#count(source, event.recorded);
    if (event.durationMs !== undefined) this.#duration.observe({ source }, event.durationMs / 1000);
    this.#polls.inc({ source, status });
    this.#failing.set({ source }, event.failures);
    this.#refused.set({ source }, Number(NEEDS_OPERATOR.has(event.code)));
  }

  tokenRenewed({ source, grant }: EventOf<'token-renewed'>): void {
    this.#renewals.inc({ source, grant });
  }

  #count(
    source: string,
    counted: Pick<EventOf<'poll-finished'>, 'listed' | 'new' | 'changed' | 'rejected' | 'bytes'>,
  ) {
    this.#listed.inc({ source }, counted.listed);
    this.#new.inc({ source }, counted.new);
    this.#changed.inc({ source }, counted.changed);
    this.#rejected.inc({ source }, counted.rejected);
    this.#bytes.inc({ source }, counted.bytes);
  }
}

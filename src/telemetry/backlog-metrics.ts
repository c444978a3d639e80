import type { SinkHealth } from '../leads/sink-health.ts';
import type { Instruments } from './instruments.ts';
import { withTimeout } from './with-timeout.ts';

/** Backlog of a sink in the ledger. */
export interface SinkBacklog {
  readonly sink: string;
  readonly pending: number;
  readonly dead: number;
  readonly oldestOwedAt: Date | undefined;
  /** If absent, the metrics take holds and pauses from events alone. */
  readonly health?: Pick<SinkHealth, 'heldSince' | 'pausedSince' | 'quota'> | undefined;
  /** Whether the sink is configured and enabled, which is the default. If it is not, it counts as neither held nor paused. */
  readonly active?: boolean | undefined;
}

/**
 * Metrics of the backlog of each sink, read from the ledger at each scrape. If the read fails, the metrics keep their last values, except
 * that the age of the oldest delivery continues to grow, and a counter counts the failure. A scrape never fails because of the ledger.
 */
export class BacklogMetrics {
  readonly #pending;
  readonly #dead;
  readonly #oldest;
  readonly #held;
  readonly #paused;
  readonly #quotaUsed;
  readonly #quotaLimit;
  readonly #failures;
  readonly #owedAt = new Map<string, Date | undefined>();
  #underWay: Promise<void> | undefined;

  /** @param parts `read` returns the backlog of every sink; a read that takes longer than `patienceMs` counts as failed */
  constructor(
    make: Instruments,
    sinks: readonly string[],
    parts: { read: () => Promise<readonly SinkBacklog[]>; now: () => Date; patienceMs: number },
  ) {
    const by = { sink: sinks };
    // Single flight: one scrape collects all gauges, and they share one read.
    const refresh = () => {
      this.#underWay ??= this.#refresh(parts).finally(() => {
        this.#underWay = undefined;
      });
      return this.#underWay;
    };
    const gauge = (name: string, help: string) => make.gauge(name, help, by, refresh);
    this.#pending = gauge('leadsync_backlog_pending', 'Pending deliveries.');
    this.#dead = gauge('leadsync_backlog_dead', 'Dead deliveries.');
    this.#oldest = gauge(
      'leadsync_backlog_oldest_age_seconds',
      'Age of the oldest pending delivery; 0 if there is none.',
    );
    this.#held = gauge(
      'leadsync_sink_held',
      '1 while the sink is held because its destination does not work.',
    );
    this.#paused = gauge('leadsync_sink_paused', '1 while the sink is paused.');
    this.#quotaUsed = make.unknownGauge(
      'leadsync_sink_quota_used',
      'How much of its daily limit the destination reported as used in its last answer; NaN if it reports none.',
      by,
      refresh,
    );
    this.#quotaLimit = make.unknownGauge(
      'leadsync_sink_quota_limit',
      'The daily limit of the destination, such as API requests; NaN if it reports none.',
      by,
      refresh,
    );
    this.#failures = make.counter('leadsync_backlog_read_failures_total', 'Failed reads of the backlog.');
  }

  held(sink: string, held: boolean): void {
    this.#held.set({ sink }, Number(held));
  }

  paused(sink: string, paused: boolean): void {
    this.#paused.set({ sink }, Number(paused));
  }

  async #refresh(parts: {
    read: () => Promise<readonly SinkBacklog[]>;
    now: () => Date;
    patienceMs: number;
  }) {
    try {
      for (const backlog of await withTimeout(parts.patienceMs, parts.read)) this.#set(backlog);
    } catch {
      // The scrape shows the last values. Other parts report the failure of the ledger.
      this.#failures.inc();
    }
    for (const [sink, owedAt] of this.#owedAt) {
      this.#oldest.set(
        { sink },
        owedAt === undefined ? 0 : Math.max(0, (parts.now().getTime() - owedAt.getTime()) / 1000),
      );
    }
  }

  #set({ sink, pending, dead, oldestOwedAt, health, active = true }: SinkBacklog): void {
    this.#pending.set({ sink }, pending);
    this.#dead.set({ sink }, dead);
    this.#owedAt.set(sink, oldestOwedAt);
    if (health === undefined) return;
    this.held(sink, active && health.heldSince !== undefined);
    this.paused(sink, active && health.pausedSince !== undefined);
    this.#quotaUsed.set({ sink }, health.quota?.used ?? Number.NaN);
    this.#quotaLimit.set({ sink }, health.quota?.limit ?? Number.NaN);
  }
}

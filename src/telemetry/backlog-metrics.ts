import type { SinkHealth } from '../leads/sink-health.ts';
import type { Instruments } from './instruments.ts';

/** What waits for a sink, as the ledger has it. */
export interface SinkBacklog {
  readonly sink: string;
  readonly pending: number;
  readonly dead: number;
  readonly oldestOwedAt: Date | undefined;
  /** Absent: held and paused are known from events alone, so only since this process started. */
  readonly health?: Pick<SinkHealth, 'heldSince' | 'pausedSince'> | undefined;
  /** False where the configuration has it no more, or disabled: then nobody tries it, and it is neither held nor paused. */
  readonly active?: boolean | undefined;
}

/**
 * What waits for each sink, read when the metrics are shown. When it cannot be read the last values stay, their age
 * goes on growing, and the failure is counted: a scrape never fails because the ledger did.
 */
export class BacklogMetrics {
  readonly #pending;
  readonly #dead;
  readonly #oldest;
  readonly #held;
  readonly #paused;
  readonly #failures;
  readonly #owedAt = new Map<string, Date | undefined>();
  #underWay: Promise<void> | undefined;

  /** A `read` that takes longer than `patienceMs` counts as failed. */
  constructor(
    make: Instruments,
    sinks: readonly string[],
    parts: { read: () => Promise<readonly SinkBacklog[]>; now: () => Date; patienceMs: number },
  ) {
    const by = { sink: sinks };
    // Whichever gauge is shown first reads for all: they are shown in one turn.
    const refresh = () => {
      this.#underWay ??= this.#refresh(parts).finally(() => {
        this.#underWay = undefined;
      });
      return this.#underWay;
    };
    const gauge = (name: string, help: string) => make.gauge(name, help, by, refresh);
    this.#pending = gauge('leadsync_backlog_pending', 'Deliveries that are owed and not settled.');
    this.#dead = gauge('leadsync_backlog_dead', 'Deliveries given up that nobody has retried.');
    this.#oldest = gauge(
      'leadsync_backlog_oldest_age_seconds',
      'Age of the oldest pending delivery; 0 when none is.',
    );
    this.#held = gauge(
      'leadsync_sink_held',
      '1 while the sink is held because its destination does not work.',
    );
    this.#paused = gauge('leadsync_sink_paused', '1 while the sink is paused.');
    this.#failures = make.counter(
      'leadsync_backlog_read_failures_total',
      'Times the backlog could not be read.',
    );
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
      for (const backlog of await within(parts.patienceMs, parts.read)) this.#set(backlog);
    } catch {
      // The scrape shows what was last known; the ledger's own trouble is reported by whoever works with it.
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
  }
}

async function within<Value>(ms: number, work: () => Promise<Value>): Promise<Value> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`took longer than ${ms} ms`)), ms);
  });
  try {
    return await Promise.race([work(), late]);
  } finally {
    clearTimeout(timer);
  }
}

import type { SinkConfig } from '../../config/contract/config.ts';
import { userAgent } from '../../platform/process/version.ts';
import type { Clock } from '../../platform/time/clock.ts';
import type { Sink } from '../../sinks/sink.ts';

/** What an attempt may take beyond the destination's own deadline, in ms. */
const OVERHEAD_MS = 5_000;

/** A sink that is open, and how long one attempt of it may take. */
export interface OpenSink {
  readonly sink: Sink;
  /** In ms, the whole batch included; a sink that does not end by then is given up on. */
  readonly budgetMs: number;
  /** Why it cannot be told that a lead is erased: owed to a sink that had its name and was of another type. Undefined where it can. */
  readonly erasedRefusal?: string | undefined;
}

/** Opens a configured sink. No connection is made yet. */
export function openSink(sink: SinkConfig, clock: Clock): Sink {
  return sink.type.open(sink.options, {
    name: sink.name,
    clock,
    concurrency: sink.concurrency,
    batchMax: sink.batch.max,
    timeoutMs: sink.timeoutMs,
    userAgent,
  });
}

/** Why a sink cannot be told that a lead is erased; undefined where it can. */
function erasedRefusal({ type: { type, defaults } }: SinkConfig): string | undefined {
  if (defaults.events.includes('erased')) return undefined;
  return `A ${type} sink cannot be told that a lead is erased. Ask whoever runs the destination that had this name before to erase it.`;
}

interface Entry extends OpenSink {
  underWay: number;
  /** Called when nothing is under way any more. */
  onIdle: (() => void) | undefined;
}

/** The sinks that are open for delivery, by name. One that another takes the place of is closed when its last attempt has ended. */
export class OpenSinks {
  readonly #clock: Clock;
  readonly #entries = new Map<string, Entry>();
  /** By name: retired, with attempts under way. */
  readonly #retiring = new Map<string, Set<Entry>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Opens a sink. */
  open(config: SinkConfig): OpenSink {
    // A batch may be split to find the lead that is refused, which takes several calls.
    const calls = config.batch.max === 1 ? 1 : 4;
    const sink = openSink(config, this.#clock);
    const budgetMs = calls * config.timeoutMs + OVERHEAD_MS;
    const entry = { sink, budgetMs, erasedRefusal: erasedRefusal(config), underWay: 0, onIdle: undefined };
    this.#entries.set(config.name, entry);
    return entry;
  }

  /** Begins no attempt at a sink any more. Resolves when those under way have ended and it is closed. */
  async retire(name: string): Promise<void> {
    const entry = this.#entries.get(name);
    if (!entry) return;
    this.#entries.delete(name);
    if (entry.underWay > 0) {
      const retiring = this.#retiring.get(name) ?? new Set();
      this.#retiring.set(name, retiring.add(entry));
      await new Promise<void>((resolve) => {
        entry.onIdle = resolve;
      });
      retiring.delete(entry);
    }
    await entry.sink.close();
  }

  /** How many attempts are under way at what was retired under this name. */
  retiring(name: string): number {
    return [...(this.#retiring.get(name) ?? [])].reduce((sum, { underWay }) => sum + underWay, 0);
  }

  /** Runs an attempt on a sink, which stays open for it; undefined when there is no such sink. */
  async use<T>(name: string, attempt: (open: OpenSink) => Promise<T>): Promise<T | undefined> {
    const entry = this.#entries.get(name);
    if (!entry) return undefined;
    entry.underWay += 1;
    try {
      return await attempt(entry);
    } finally {
      entry.underWay -= 1;
      if (entry.underWay === 0) entry.onIdle?.();
    }
  }

  /** Closes all of them, whatever is under way. */
  async close(): Promise<void> {
    const entries = [...this.#entries.values()];
    this.#entries.clear();
    await Promise.all(entries.map(({ sink }) => sink.close()));
  }
}

import type { SinkConfig } from '../../config/contract/config.ts';
import { userAgent } from '../../platform/process/version.ts';
import type { Clock } from '../../platform/time/clock.ts';
import type { Sink } from '../../sinks/sink.ts';
import type { OpenFunction, SinkParts, SinkType } from '../../sinks/sink-type.ts';

/** Time that an attempt may take beyond the timeouts of its calls, in ms. */
const OVERHEAD_MS = 5_000;

/** An open sink, and how long one attempt may take. */
export interface OpenSink {
  readonly sink: Sink;
  /** Maximum time for attempting a whole batch, in ms. An attempt that takes longer is aborted. */
  readonly budgetMs: number;
  /**
   * Reason for refusing `erased` events; undefined if the sink accepts them. A sink that refuses such events is owed them only if a sink of
   * another type had the same name before.
   */
  readonly erasedRefusal?: string | undefined;
  /** Names of the fields whose expressions the sink type supplies, and not the configuration. Absent: none. */
  readonly standardFields?: ReadonlySet<string>;
}

/** Returns the address at which people open the pages; undefined if it is not configured. A reload may change it. */
export type PublicUrl = () => string | undefined;

/** Opens a configured sink without connecting to its destination. Without `publicUrl`, messages have no link to the page of their lead. */
export async function openSink(
  sink: SinkConfig,
  clock: Clock,
  publicUrl: PublicUrl = () => undefined,
): Promise<Sink> {
  const open = await sink.type.load();
  return open(sink.options, partsOf(sink, clock, publicUrl));
}

/** Returns what leadsync passes to a sink in addition to its options. */
function partsOf(sink: SinkConfig, clock: Clock, publicUrl: PublicUrl): SinkParts {
  return {
    name: sink.name,
    clock,
    concurrency: sink.concurrency,
    batchMax: sink.batch.max,
    timeoutMs: sink.timeoutMs,
    userAgent,
    leadUrl: ({ source, leadId }) => {
      const origin = publicUrl();
      return origin === undefined ? undefined : `${origin}/leads/${encodeURIComponent(source)}/${leadId}`;
    },
  };
}

/** Returns why a sink does not accept `erased` events, as sentences; undefined if it does. */
function erasedRefusal({ type: { type, defaults } }: SinkConfig): string | undefined {
  if (defaults.events.includes('erased')) return undefined;
  return `A ${type} sink does not take \`lead.erased\`. An earlier sink of this name delivered the lead to another destination: ask the operator of that destination to erase it.`;
}

/** Returns the names of the fields whose expressions are those of the sink type. */
function standardFields({ type, options, mapping }: SinkConfig): ReadonlySet<string> {
  const standard = Object.entries(type.standardFields?.(options, mapping?.region) ?? {});
  const isStandard = (name: string, from: string) => {
    const rule = mapping?.fields?.[name];
    return rule !== undefined && 'from' in rule && rule.from === from;
  };
  return new Set(standard.flatMap(([name, { from }]) => (isStandard(name, from) ? [name] : [])));
}

interface Entry extends OpenSink {
  underWay: number;
  /** Called when the last attempt has ended. */
  onIdle: (() => void) | undefined;
}

/** The sinks that are open for delivery, by name. A retired sink closes when its last attempt has ended. */
export class OpenSinks {
  readonly #clock: Clock;
  readonly #publicUrl: PublicUrl;
  /** How to open sinks of the types that `load` has loaded. */
  readonly #openers = new Map<SinkType, OpenFunction>();
  readonly #entries = new Map<string, Entry>();
  /** Retired sinks with attempts in progress, by name. */
  readonly #retiring = new Map<string, Set<Entry>>();

  constructor(clock: Clock, publicUrl: PublicUrl) {
    this.#clock = clock;
    this.#publicUrl = publicUrl;
  }

  /** Loads the code of these sinks, so that `open` can open them. */
  async load(sinks: readonly SinkConfig[]): Promise<void> {
    await Promise.all(sinks.map(async ({ type }) => this.#openers.set(type, await type.load())));
  }

  /** Opens a sink. @throws Error if `load` has not loaded its code */
  open(config: SinkConfig): OpenSink {
    const open = this.#openers.get(config.type);
    if (!open) throw new Error(`The code of ${config.type.type} sinks is not loaded.`);
    // A sink may split a batch to find the refused lead, which takes several calls.
    const calls = config.batch.max === 1 ? 1 : 4;
    const sink = open(config.options, partsOf(config, this.#clock, this.#publicUrl));
    const budgetMs = calls * config.timeoutMs + OVERHEAD_MS;
    const entry = {
      sink,
      budgetMs,
      erasedRefusal: erasedRefusal(config),
      standardFields: standardFields(config),
      underWay: 0,
      onIdle: undefined,
    };
    this.#entries.set(config.name, entry);
    return entry;
  }

  /** Lets no further attempt begin. Resolves when the attempts in progress have ended and the sink is closed. */
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

  /** Returns the number of attempts in progress at retired sinks of this name. */
  retiring(name: string): number {
    return [...(this.#retiring.get(name) ?? [])].reduce((sum, { underWay }) => sum + underWay, 0);
  }

  /** Runs an attempt and keeps the sink open until it ends. Returns undefined if there is no such sink. */
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

  /** Closes all sinks, even with attempts in progress. */
  async close(): Promise<void> {
    const entries = [...this.#entries.values()];
    this.#entries.clear();
    await Promise.all(entries.map(({ sink }) => sink.close()));
  }
}

import { randomBytes } from 'node:crypto';
import type { Config, SinkConfig } from '../config/config.ts';
import type { Carrier } from '../delivery/carrier.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { type Clock, type Random, systemClock } from '../platform/clock.ts';
import type { Closers } from '../platform/closers.ts';
import { version } from '../platform/version.ts';
import { openSource } from '../source/http-source.ts';
import type { Source } from '../source/source.ts';
import type { Emit } from '../telemetry/events.ts';
import type { LogStream } from '../telemetry/logger.ts';
import { createTelemetry, type Telemetry } from '../telemetry/telemetry.ts';
import { openCarrier } from './carrier-choice.ts';
import { deliverBatch, type OpenSink } from './deliver.ts';
import { showOwnLife } from './free-the-dead.ts';
import { holdDataDir, openConfiguredLedger } from './open-ledger.ts';
import { openSinks } from './open-sinks.ts';
import { Wakes } from './wake.ts';

/** What this process is to do. */
export type Role =
  /** Polls on schedule, dispatches, and delivers unless other processes do. */
  | { readonly kind: 'run'; readonly deliver: boolean }
  /** Delivers alone, beside a `run --no-deliver`. */
  | { readonly kind: 'worker' }
  /** Polls once, and does not wait for batches to fill. */
  | { readonly kind: 'sync' };

export interface DaemonOptions {
  readonly config: Config;
  readonly role: Role;
  /** Where the admin server listens; undefined: nowhere. */
  readonly admin: { readonly host: string; readonly port: number } | undefined;
  readonly log: LogStream;
  /** Who else wants every event: progress on a terminal. */
  readonly subscribers?: readonly Emit[];
  readonly clock?: Clock;
  readonly random?: Random;
}

/** Everything that a leadsync is made of: open, and not started. */
export interface Parts {
  readonly config: Config;
  readonly role: Role;
  /** Whether attempts are made in this process. */
  readonly delivers: boolean;
  /** Those that are enabled. */
  readonly sinks: readonly SinkConfig[];
  readonly openSinks: ReadonlyMap<string, OpenSink>;
  /** None for a worker. */
  readonly sources: readonly Source[];
  readonly ledger: Ledger;
  readonly carrier: Carrier;
  readonly telemetry: Telemetry;
  readonly wakes: Wakes;
  readonly clock: Clock;
  readonly random: Random;
}

/**
 * Opens every part and wires them: what is opened is pushed to `closers` at once. No connection is needed for it.
 * @throws DataDirHeld, DataDirUnusable, LedgerError
 */
export async function compose(options: DaemonOptions, closers: Closers): Promise<Parts> {
  const { config, role } = options;
  const clock = options.clock ?? systemClock;
  const random = options.random ?? Math.random;
  const sinks = config.sinks.filter((sink) => sink.enabled);
  const wakes = new Wakes(
    sinks.map((sink) => sink.name),
    clock,
  );
  const delivers = role.kind !== 'run' || role.deliver;
  const polls = role.kind !== 'worker';
  if (polls) {
    const lock = holdDataDir(config.dataDir);
    closers.push(() => lock.release());
  }
  const ledger = openLedger(config, { clock, random, create: polls }, closers);
  const sources: Source[] = [];
  const telemetry = openTelemetry(options, { sinks, sources, ledger, clock });
  const { emit } = telemetry;
  if (polls) for (const source of openSources(config, { clock, random, emit }, closers)) sources.push(source);
  const opened = openSinks(sinks, clock);
  for (const { sink } of opened.values()) closers.push(() => sink.close());
  const onSettled = (sink: string) => wakes.notify(sink);
  const carrier = await openCarrier(config, sinks, {
    ledgerId: ledger.id,
    attempt: deliverBatch({ ledger, sinks: opened, clock, emit, onSettled }),
    deliver: delivers,
    clock,
    emit,
    onReady: () => wakes.notifyAll(),
  });
  closers.push(() => carrier.close(0));
  const own = { config, role, delivers, clock, random };
  return { ...own, sinks, openSinks: opened, sources, ledger, carrier, telemetry, wakes };
}

function openLedger(
  config: Config,
  parts: { clock: Clock; random: Random; create: boolean },
  closers: Closers,
): Ledger {
  // Random by nature: it must differ from every name that was ever used here.
  const holder = randomBytes(8).toString('hex');
  const ledger = openConfiguredLedger(config, { ...parts, holder });
  closers.push(() => ledger.close());
  const life = showOwnLife(config.dataDir, holder);
  closers.push(() => life.release());
  return ledger;
}

function openTelemetry(
  { config, log, subscribers }: DaemonOptions,
  parts: Pick<Parts, 'sinks' | 'sources' | 'ledger' | 'clock'>,
): Telemetry {
  return createTelemetry({
    version,
    sources: config.sources.map((source) => source.name),
    sinks: parts.sinks.map((sink) => sink.name),
    now: () => parts.clock.now(),
    backlog: () => parts.ledger.backlog(),
    tokenExpiresAt: (name) => parts.sources.find((source) => source.name === name)?.tokenExpiresAt(),
    log: { ...config.log, stream: log },
    ...(subscribers ? { subscribers } : {}),
  });
}

function openSources(
  { sources, dataDir, tokenKey }: Config,
  parts: { clock: Clock; random: Random; emit: Emit },
  closers: Closers,
): Source[] {
  return sources.map(({ name, options }) => {
    const source = openSource(name, options, { ...parts, dataDir, tokenKey });
    closers.push(() => source.close());
    return source;
  });
}

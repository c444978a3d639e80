import type { Config, SinkConfig } from '../../config/contract/config.ts';
import { CarrierUnavailable } from '../../delivery/carrier.ts';
import type { Clock } from '../../platform/time/clock.ts';
import { DeadlinePassed, withinDeadline } from '../../platform/time/deadline.ts';
import { SinkUnavailable } from '../../sinks/sink-unavailable.ts';
import { ledgerPlaceOf } from './configured-ledger.ts';
import { openSink } from './open-sinks.ts';

/** Maximum time until a sink or Redis begins to answer, in ms. */
const FIRST_ANSWER_MS = 5_000;
/**
 * Maximum time for reading all leads that a sink holds, in ms. It is long, because a sink may hold millions of leads from other sources.
 */
const LONGEST_MS = 300_000;

/** Traces of an earlier ledger, each as a phrase. */
export interface Traces {
  readonly found: readonly string[];
  /** Places that may hold a trace but did not answer, each with the reason. */
  readonly unanswered: readonly string[];
}

interface Answer {
  readonly found?: string | undefined;
  readonly unanswered?: string;
}

/**
 * Searches the data directory, the sinks and Redis for traces of an earlier ledger. Also searches disabled sinks, but ignores those that do
 * not answer, because a sink is often disabled when its destination no longer exists.
 */
export async function tracesOf(config: Config, clock: Clock, stop: AbortSignal): Promise<Traces> {
  const left = ledgerPlaceOf(config).traces();
  const inFolder = left.length > 0 ? [{ found: `data_dir holds ${left.join(', ')}` }] : [];
  const answers: Answer[] = [
    ...inFolder,
    ...(await Promise.all([
      ...config.sinks.map((sink) => askSink(sink, config, clock, stop)),
      askQueue(config, stop),
    ])),
  ];
  const present = (text: string | undefined) => text !== undefined;
  return {
    found: answers.map(({ found }) => found).filter(present),
    unanswered: answers.map(({ unanswered }) => unanswered).filter(present),
  };
}

async function askSink(sink: SinkConfig, config: Config, clock: Clock, stop: AbortSignal): Promise<Answer> {
  const sources = new Set(config.sources.map(({ name }) => name));
  const { found, unanswered } = await answerOf(`sink ${sink.name}`, stop, (signal, onAnswer) =>
    heldBy(sink, sources, { clock, signal, onAnswer }),
  );
  return sink.enabled && unanswered ? { unanswered } : { found };
}

/** Returns a phrase that names a lead of these sources in the destination; undefined if the destination holds none or cannot list leads. */
async function heldBy(
  config: SinkConfig,
  sources: ReadonlySet<string>,
  { clock, signal, onAnswer }: { clock: Clock; signal: AbortSignal; onAnswer: () => void },
): Promise<string | undefined> {
  const sink = await openSink(config, clock);
  try {
    for await (const { source, leadId, file } of sink.storedLeads?.(signal) ?? []) {
      onAnswer();
      if (sources.has(source))
        return `sink ${config.name} holds lead ${leadId} of ${source}${file ? ` in ${file}` : ''}`;
    }
    return undefined;
  } finally {
    await sink.close();
  }
}

async function askQueue({ queue: { redis, prefix } }: Config, stop: AbortSignal): Promise<Answer> {
  if (!redis) return {};
  const { readMarker } = await import('../../delivery/queue-owner.ts'); // lazy: loads the queue's packages
  return answerOf('Redis', stop, async (signal) => {
    const ledger = await readMarker(redis, prefix, signal);
    return ledger && `Redis holds the marker of ledger ${ledger} under ${prefix}`;
  });
}

/** Asks one place. `ask` calls `onAnswer` when the place begins to answer. */
async function answerOf(
  place: string,
  stop: AbortSignal,
  ask: (signal: AbortSignal, onAnswer: () => void) => Promise<string | undefined>,
): Promise<Answer> {
  const silence = new AbortController();
  const timer = setTimeout(() => silence.abort(new DeadlinePassed()), FIRST_ANSWER_MS);
  try {
    const ended = AbortSignal.any([stop, silence.signal]);
    const found = await withinDeadline(LONGEST_MS, ended, (signal) => ask(signal, () => clearTimeout(timer)));
    return { found };
  } catch (error) {
    if (stop.aborted) return { unanswered: `${place}: stopped before it answered.` };
    if (error instanceof DeadlinePassed) return { unanswered: `${place}: it does not answer.` };
    if (error instanceof SinkUnavailable || error instanceof CarrierUnavailable)
      return { unanswered: `${place}: ${error.message}` };
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

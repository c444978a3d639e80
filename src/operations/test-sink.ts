import type { Config } from '../config/contract/config.ts';
import type { Clock } from '../platform/time/clock.ts';
import { SinkUnavailable, type TestResult } from '../sinks/sink.ts';
import { testBatch } from '../sinks/test-batch.ts';
import { openSink } from './opening/open-sinks.ts';

/** Result of a test event, and how long the test took. */
export interface SinkTestResult extends TestResult {
  readonly durationMs: number;
}

/**
 * Sends one test event through a configured sink, whether the sink is enabled or not. Does not use the ledger.
 * @throws Error if there is no such sink: the caller must check
 */
export async function testSink(
  { sinks }: Pick<Config, 'sinks'>,
  name: string,
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
): Promise<SinkTestResult> {
  const config = sinks.find((sink) => sink.name === name);
  if (!config) throw new Error('there is no such sink');
  const sink = openSink(config, clock);
  const startMs = clock.monotonicMs();
  try {
    const tested = await sink.test(testBatch(name, clock.now()), signal).catch(unavailable);
    return { ...tested, durationMs: Math.round(clock.monotonicMs() - startMs) };
  } finally {
    await sink.close();
  }
}

function unavailable(error: unknown): TestResult {
  if (!(error instanceof SinkUnavailable)) throw error;
  return { arrived: false, what: [error.message, error.hint].filter(Boolean).join(' ') };
}

import type { Config } from '../config/contract/config.ts';
import { columnsOfDefinition } from '../mapping/map-delivery.ts';
import type { Clock } from '../platform/time/clock.ts';
import type { DestinationField, MissingPart } from '../sinks/destination-parts.ts';
import type { Sink } from '../sinks/sink.ts';
import { openSink } from './opening/open-sinks.ts';

interface Parts {
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/**
 * Finds what the destination of a configured sink lacks, and passes it to `use` while the sink is open. Passes undefined if destinations of
 * its type need no preparation. The sink may be disabled.
 * @throws SinkUnavailable
 * @throws Error if the sink does not exist; the caller must check that first
 */
export function withMissingParts<Result>(
  config: Pick<Config, 'sinks' | 'clientKey'>,
  name: string,
  parts: Parts,
  use: (missing: readonly MissingPart[] | undefined) => Promise<Result>,
): Promise<Result> {
  return withSink(config, name, parts, async (sink) => {
    const columns = columnsOfDefinition(
      config.sinks.find((one) => one.name === name)?.mapping,
      config.clientKey,
    );
    return use(await sink.missingParts?.(parts.signal, columns));
  });
}

/**
 * Returns the fields of the destination of a configured sink; undefined if destinations of its type have no list of fields.
 * @throws SinkUnavailable
 * @throws Error if the sink does not exist; the caller must check that first
 */
export function fieldsOfDestination(
  config: Pick<Config, 'sinks'>,
  name: string,
  parts: Parts,
): Promise<readonly DestinationField[] | undefined> {
  return withSink(config, name, parts, async (sink) => sink.destinationFields?.(parts.signal));
}

async function withSink<Result>(
  { sinks }: Pick<Config, 'sinks'>,
  name: string,
  { clock }: Parts,
  use: (sink: Sink) => Promise<Result>,
): Promise<Result> {
  const config = sinks.find((one) => one.name === name);
  if (!config) throw new Error('there is no such sink');
  const sink = await openSink(config, clock);
  try {
    return await use(sink);
  } finally {
    await sink.close();
  }
}

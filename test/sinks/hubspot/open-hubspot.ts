import type { z } from 'zod';
import type { Delivery } from '../../../src/leads/delivery.ts';
import type { Outcome } from '../../../src/leads/outcome.ts';
import { hubspot } from '../../../src/sinks/hubspot/hubspot.ts';
import { standardFields } from '../../../src/sinks/hubspot/options.ts';
import { type Sink, type SinkParts, SinkUnavailable } from '../../../src/sinks/sink.ts';
import type { HubSpotStub } from '../../stub/hubspot/hubspot-stub.ts';
import { aBatch } from '../../support/scene/a-delivery.ts';
import { givingFields, rulesOf } from '../giving-fields.ts';
import { someParts } from '../some-parts.ts';

const NEVER = new AbortController().signal;

/** Options of a hubspot sink as in YAML. */
export type HubSpotInput = Partial<z.input<typeof hubspot.options>>;

/** How to open a sink: its options, fields beside the standard ones as expressions, and what leadsync passes to it. */
interface Opening {
  readonly options?: HubSpotInput;
  readonly fields?: Readonly<Record<string, string>>;
  readonly parts?: Partial<SinkParts>;
}

/** Opens a hubspot sink whose leads have the standard fields, and others. */
export function openHubSpot(
  { url, token }: Pick<HubSpotStub, 'url' | 'token'>,
  { options = {}, fields = {}, parts = {} }: Opening = {},
): Sink {
  const read = hubspot.options.parse({ token, api_url: url, ...options });
  const sink = hubspot.open(read, someParts({ batchMax: 100, ...parts }));
  return givingFields(sink, rulesOf(standardFields(read, 'AU'), fields));
}

/** Makes what an account lacks. */
export async function setUp(sink: Sink): Promise<void> {
  for (const { make } of (await sink.missingParts?.(NEVER)) ?? []) await make(NEVER);
}

/** Returns the outcomes of an attempt. If the sink throws, each delivery has the outcome that the error means. */
export async function outcomesOf(
  sink: Sink,
  deliveries: readonly Delivery[],
  signal: AbortSignal = NEVER,
): Promise<readonly Outcome[]> {
  try {
    return await sink.deliver(aBatch(deliveries), signal);
  } catch (error) {
    if (!(error instanceof SinkUnavailable)) throw error;
    return deliveries.map(() => error.toOutcome());
  }
}

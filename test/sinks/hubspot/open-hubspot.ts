import type { z } from 'zod';
import { hubspot } from '../../../src/sinks/hubspot/hubspot.ts';
import { standardFields } from '../../../src/sinks/hubspot/options.ts';
import type { Sink, SinkParts } from '../../../src/sinks/sink.ts';
import type { HubSpotStub } from '../../stub/hubspot/hubspot-stub.ts';
import { givingFields, rulesOf } from '../giving-fields.ts';
import { someParts } from '../some-parts.ts';

const NEVER = new AbortController().signal;

/** Options of a hubspot sink as in YAML. */
export type HubSpotInput = Partial<z.input<typeof hubspot.options>>;

/** Opens a hubspot sink whose leads have the standard fields, and others. */
export function openHubSpot(
  { url, token }: Pick<HubSpotStub, 'url' | 'token'>,
  {
    options = {},
    fields = {},
    parts = {},
  }: {
    readonly options?: HubSpotInput;
    readonly fields?: Readonly<Record<string, string>>;
    readonly parts?: Partial<SinkParts>;
  } = {},
): Sink {
  const read = hubspot.options.parse({ token, api_url: url, ...options });
  const sink = hubspot.open(read, someParts({ batchMax: 100, ...parts }));
  return givingFields(sink, rulesOf(standardFields(read, 'AU'), fields));
}

/** Makes what an account lacks. */
export async function setUp(sink: Sink): Promise<void> {
  for (const { make } of (await sink.missingParts?.(NEVER)) ?? []) await make(NEVER);
}

import { onTestFinished } from 'vitest';
import type { z } from 'zod';
import type { Delivery } from '../../../src/leads/delivery.ts';
import type { Outcome } from '../../../src/leads/outcome.ts';
import { HubSpotSink } from '../../../src/sinks/hubspot/hubspot.ts';
import { hubspot } from '../../../src/sinks/hubspot/hubspot-type.ts';
import { standardFields } from '../../../src/sinks/hubspot/options.ts';
import type { AttemptUnderWay, Sink } from '../../../src/sinks/sink.ts';
import type { SinkParts } from '../../../src/sinks/sink-type.ts';
import { SinkUnavailable } from '../../../src/sinks/sink-unavailable.ts';
import {
  type HubSpotStub,
  type HubSpotStubOptions,
  startHubSpotStub,
} from '../../stub/hubspot/hubspot-stub.ts';
import { aBatch } from '../../support/scene/a-delivery.ts';
import { givingFields, rulesOf } from '../giving-fields.ts';
import { someParts } from '../some-parts.ts';

const NEVER = new AbortController().signal;

/** Options of a hubspot sink as in YAML. */
export type HubSpotInput = Partial<z.input<typeof hubspot.options>>;

/** How to open a sink: its options, fields beside the standard ones as expressions, and what leadsync passes to it. */
export interface Opening {
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
  const sink = new HubSpotSink(read, someParts({ batchMax: 100, ...parts }));
  return givingFields(sink, rulesOf(standardFields(read, 'AU'), fields));
}

/** Makes what an account lacks. */
export async function setUp(sink: Sink): Promise<void> {
  for (const { make } of (await sink.missingParts?.(NEVER)) ?? []) await make(NEVER);
}

/** An account with what leadsync needs, and sinks for it. All are closed when the test is over. */
export interface PreparedAccount {
  readonly stub: HubSpotStub;
  /** Opens another sink for the account, with its options in place of the usual. */
  open(opening?: Opening): Sink;
}

/** Starts an account and makes what it lacks for sinks with this opening. */
export async function anAccount(
  opening: Opening = {},
  stubOptions: HubSpotStubOptions = {},
): Promise<PreparedAccount> {
  const stub = await startHubSpotStub(stubOptions);
  onTestFinished(() => stub.close());
  const open = (more: Opening = {}) => {
    const options = { ...opening.options, ...more.options };
    const sink = openHubSpot(stub, { ...opening, ...more, options });
    onTestFinished(() => sink.close());
    return sink;
  };
  await setUp(open());
  return { stub, open };
}

/** Returns the outcomes of an attempt. If the sink throws, each delivery has the outcome that the error means. */
export async function outcomesOf(
  sink: Sink,
  deliveries: readonly Delivery[],
  { signal = NEVER, attempt }: { readonly signal?: AbortSignal; readonly attempt?: AttemptUnderWay } = {},
): Promise<readonly Outcome[]> {
  try {
    return await sink.deliver(aBatch(deliveries), signal, attempt);
  } catch (error) {
    if (!(error instanceof SinkUnavailable)) throw error;
    return deliveries.map(() => error.toOutcome());
  }
}

/** Returns an attempt in which something happens at HubSpot once, between a request to this path and the next one. */
export function onceAfter(stub: HubSpotStub, path: string, happens: () => unknown): AttemptUnderWay {
  let isOver = false;
  return {
    timeLeftMs: () => Number.POSITIVE_INFINITY,
    confirmLease: () => {
      if (isOver || !stub.requests.at(-1)?.path.includes(path)) return;
      isOver = true;
      happens();
    },
  };
}

/** Returns an attempt in which something happens immediately before its request of this number, counted from 1. */
export function beforeRequest(number: number, happens: () => unknown): AttemptUnderWay {
  let made = 0;
  return {
    timeLeftMs: () => Number.POSITIVE_INFINITY,
    confirmLease: () => {
      made += 1;
      if (made === number) happens();
    },
  };
}

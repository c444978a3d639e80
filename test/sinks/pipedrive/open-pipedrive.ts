import { onTestFinished } from 'vitest';
import type { z } from 'zod';
import type { Delivery } from '../../../src/leads/delivery.ts';
import type { Outcome } from '../../../src/leads/outcome.ts';
import { standardFields } from '../../../src/sinks/pipedrive/options.ts';
import { PipedriveSink } from '../../../src/sinks/pipedrive/pipedrive.ts';
import { pipedrive } from '../../../src/sinks/pipedrive/pipedrive-type.ts';
import type { AttemptUnderWay, Sink } from '../../../src/sinks/sink.ts';
import type { SinkParts } from '../../../src/sinks/sink-type.ts';
import { SinkUnavailable } from '../../../src/sinks/sink-unavailable.ts';
import {
  type PipedriveStub,
  type PipedriveStubOptions,
  startPipedriveStub,
} from '../../stub/pipedrive/pipedrive-stub.ts';
import { aBatch } from '../../support/scene/a-delivery.ts';
import { givingFields, rulesOf } from '../giving-fields.ts';
import { someParts } from '../some-parts.ts';
import { WaitingClock } from './waiting-clock.ts';

const NEVER = new AbortController().signal;

/** Options of a pipedrive sink as in YAML. */
export type PipedriveInput = Partial<z.input<typeof pipedrive.options>>;

/** How to open a sink: its options, fields beside the standard ones as expressions, and what leadsync passes to it. */
export interface Opening {
  readonly options?: PipedriveInput;
  readonly fields?: Readonly<Record<string, string>>;
  readonly parts?: Partial<SinkParts>;
}

/** Opens a pipedrive sink whose leads have the standard fields, and others. It waits for the limits without waiting. */
export function openPipedrive(
  { url, token }: Pick<PipedriveStub, 'url' | 'token'>,
  { options = {}, fields = {}, parts = {} }: Opening = {},
): Sink {
  const read = pipedrive.options.parse({ domain: url, token, ...options });
  const sink = new PipedriveSink(read, someParts({ batchMax: 10, clock: new WaitingClock(), ...parts }));
  const giving = givingFields(sink, rulesOf(standardFields(read, 'AU'), fields));
  return {
    ...giving,
    quota: () => sink.quota?.(),
    findPerson: (subject, signal) =>
      (sink.findPerson as NonNullable<Sink['findPerson']>).call(sink, subject, signal),
  };
}

/** Makes what a company lacks. */
export async function setUp(sink: Sink): Promise<void> {
  for (const { make } of (await sink.missingParts?.(NEVER)) ?? []) await make(NEVER);
}

/** A company with what leadsync needs, and sinks for it. All are closed when the test is over. */
export interface PreparedCompany {
  readonly stub: PipedriveStub;
  /** Opens another sink for the company, with its options in place of the usual. */
  open(opening?: Opening): Sink;
}

/** Starts a company and makes what it lacks for sinks with this opening. */
export async function aCompany(
  opening: Opening = {},
  stubOptions: PipedriveStubOptions = {},
): Promise<PreparedCompany> {
  const stub = await startPipedriveStub(stubOptions);
  onTestFinished(() => stub.close());
  const open = (more: Opening = {}) => {
    const options = { ...opening.options, ...more.options };
    const sink = openPipedrive(stub, { ...opening, ...more, options });
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

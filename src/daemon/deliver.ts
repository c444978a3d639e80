import type { AttemptBatch } from '../delivery/carrier.ts';
import type { Batch, BatchRef } from '../leads/delivery.ts';
import type { Outcome } from '../leads/outcome.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { Attempt, Settled } from '../ledger/ledger-delivering.ts';
import { LedgerError } from '../ledger/ledger-error.ts';
import type { Clock } from '../platform/clock.ts';
import { reach } from '../platform/failpoint.ts';
import { type Sink, SinkUnavailable } from '../sinks/sink.ts';
import type { Emit, Event } from '../telemetry/events.ts';
import type { Span, Tracing } from '../telemetry/tracing.ts';

/** A sink that is open, and how long one attempt of it may take. */
export interface OpenSink {
  readonly sink: Sink;
  /** In ms, the whole batch included; a sink that does not end by then is given up on. */
  readonly budgetMs: number;
  /** Why it cannot be told that a lead is erased: owed to a sink that had its name and was of another type. Undefined where it can. */
  readonly untold?: string | undefined;
}

/** Finds the sink of an attempt, and keeps it open until the attempt has ended. */
export interface SinkChoice {
  /** Gives undefined, without calling `attempt`, when there is no such sink. */
  use<T>(name: string, attempt: (open: OpenSink) => Promise<T>): Promise<T | undefined>;
}

/** What all attempts of a process share. Sinks come and go with the configuration, the rest lasts. */
export interface DeliverParts {
  readonly ledger: Ledger;
  /** What is open to be delivered to. */
  readonly sinks: SinkChoice;
  readonly clock: Clock;
  readonly emit: Emit;
  /** Absent: attempts are not traced. */
  readonly tracing?: Tracing | undefined;
  /** Told the sink's name after something of it was settled. */
  readonly onSettled: (sink: string) => void;
}

/** How long the lease outlives the attempt's budget, in ms: for settling. */
const SETTLE_MS = 15_000;
const SETTLE_AGAIN_MS = 500;
const REPORT = 'This is a fault in leadsync: please report it.';
/** A reason at hand: without one an error with its stack would be made for every attempt. */
const DONE = 'done';
/** How long a sink may take to notice that it was aborted, in ms; less when leadsync stops, and everything has to end. */
const ABORT_MS = 1_000;
const STOP_MS = 500;

/** How long the lease of an attempt lasts, in ms: the sink's budget, and time to settle. */
export function attemptLeaseMs({ budgetMs }: OpenSink): number {
  return budgetMs + SETTLE_MS;
}

/** The joint between ledger and sink: begins an attempt, calls the sink, settles what came of it, and tells. */
export function deliverBatch(parts: DeliverParts): AttemptBatch {
  return async (ref, signal) => {
    try {
      // Without such a sink in the configuration of this process, another process or a later one has it.
      await parts.sinks.use(ref.sink, (open) => attempt(parts, open, ref, signal));
    } catch (error) {
      const { message: reason, hint } = error instanceof LedgerError ? error : unexpected(error);
      parts.emit({
        type: 'ledger-failed',
        operation: `delivering batch ${ref.batch} to ${ref.sink}`,
        reason,
        hint,
      });
    }
  };
}

async function attempt(
  parts: DeliverParts,
  open: OpenSink,
  ref: BatchRef,
  signal: AbortSignal,
): Promise<void> {
  const { ledger, clock, emit } = parts;
  const batch = await ledger.begin(ref, attemptLeaseMs(open));
  if (!batch) return emit({ type: 'batch-stale', sink: ref.sink, batch: ref.batch });
  const startedAt = clock.now();
  const startMs = clock.monotonicMs();
  reach('begun');
  const span = parts.tracing?.attempt(batch);
  const answered = await withoutErased(open, batch, (leads) =>
    callSink(open, leads, clock, signal, span?.traceparent),
  );
  const outcomes = keepable(answered, batch);
  if (span) endSpan(span, outcomes);
  reach('accepted');
  // Cut off by a stop: what the destination made of it is unknown, so nothing is said; the same batch is attempted again.
  if (signal.aborted && outcomes.every((outcome) => outcome.kind === 'unavailable')) {
    await ledger.release(ref);
    return;
  }
  const result = { outcomes, startedAt, durationMs: clock.monotonicMs() - startMs };
  const settled = await settleSurely(parts, ref, result, attemptLeaseMs(open), signal);
  reach('settled');
  if (!settled) return emit({ type: 'batch-stale', sink: ref.sink, batch: ref.batch });
  for (const event of eventsOf(batch, result, settled, clock.now())) emit(event);
  parts.onSettled(ref.sink);
}

/** A sink that cannot be told of erased leads gets the others: what has no content would spoil the batch for them. */
async function withoutErased(
  { untold: reason }: OpenSink,
  batch: Batch,
  call: (batch: Batch) => Promise<readonly Outcome[]>,
): Promise<readonly Outcome[]> {
  if (reason === undefined || batch.deliveries.every(({ event }) => event !== 'erased')) return call(batch);
  const leads = batch.deliveries.filter(({ event }) => event !== 'erased');
  const outcomes = leads.length > 0 ? await call({ ...batch, deliveries: leads }) : [];
  const ofLeads = outcomes[Symbol.iterator]();
  return batch.deliveries.map(({ event }) =>
    event === 'erased' ? { kind: 'refused', reason } : (ofLeads.next().value as Outcome),
  );
}

/** Calls the sink with a deadline of its own. What it throws becomes every lead's outcome. */
async function callSink(
  open: OpenSink,
  batch: Batch,
  clock: Clock,
  stop: AbortSignal,
  traceparent: string | undefined,
): Promise<readonly Outcome[]> {
  const call = new AbortController();
  let wait = new AbortController();
  let done = false;
  // Not `AbortSignal.any`, which costs ten times as much, and this is done for every delivery.
  const endEarly = () => {
    call.abort(stop.reason);
    wait.abort(DONE);
  };
  if (stop.aborted) endEarly();
  else stop.addEventListener('abort', endEarly, { once: true });
  try {
    const overdue = clock.sleep(open.budgetMs, wait.signal).then(async () => {
      if (done) return []; // the sink was first, and nobody waits for this any more
      call.abort();
      wait = new AbortController();
      await clock.sleep(stop.aborted ? STOP_MS : ABORT_MS, wait.signal);
      throw new SinkUnavailable(`The attempt did not end within ${Math.round(open.budgetMs / 1000)} s.`, {
        hint: 'See whether the destination hangs.',
      });
    });
    overdue.catch(() => undefined); // taken up by the race, unless the sink was first
    const delivered = open.sink.deliver(batch, call.signal, traceparent);
    return complete(await Promise.race([delivered, overdue]), batch);
  } catch (error) {
    const outcome = (error instanceof SinkUnavailable ? error : faultOf(error)).toOutcome();
    return batch.deliveries.map(() => outcome);
  } finally {
    done = true;
    wait.abort(DONE);
    stop.removeEventListener('abort', endEarly);
  }
}

/** Reasons stay out: an error in a trace is a word. */
function endSpan(span: Span, outcomes: readonly Outcome[]): void {
  const count = (kind: Outcome['kind']) => outcomes.filter((outcome) => outcome.kind === kind).length;
  const failed = outcomes.find(({ kind }) => kind === 'refused' || kind === 'unavailable');
  const status = failed && 'httpStatus' in failed ? failed.httpStatus : undefined;
  const attributes = {
    'leadsync.delivered': count('delivered'),
    'leadsync.refused': count('refused'),
    'leadsync.unavailable': count('unavailable'),
    'http.response.status_code': status,
  };
  span.end(attributes, failed && String(status ?? failed.kind));
}

/** What does not answer for every delivery answers for none: which outcome is whose could only be guessed. */
function complete(outcomes: readonly Outcome[], batch: Batch): readonly Outcome[] {
  const wanted = batch.deliveries.length;
  if (Array.isArray(outcomes) && outcomes.filter(isOutcome).length === wanted && outcomes.length === wanted)
    return outcomes;
  throw new SinkUnavailable('The sink did not say of every lead what became of it.', { hint: REPORT });
}

/** A destination that is told of an erased lead may answer with what it still has of it: that is not kept. */
function keepable(outcomes: readonly Outcome[], { deliveries }: Batch): readonly Outcome[] {
  if (deliveries.every(({ event }) => event !== 'erased')) return outcomes;
  return outcomes.map((outcome) => ('answer' in outcome ? { ...outcome, answer: undefined } : outcome));
}

function isOutcome(value: Outcome | null | undefined): boolean {
  return ['delivered', 'refused', 'unavailable', 'untried'].includes(value?.kind ?? '');
}

/** A ledger that cannot write for a moment must not make the sink get everything again: it is tried while the lease lasts. */
async function settleSurely(
  parts: DeliverParts,
  ref: BatchRef,
  result: Attempt,
  withinMs: number,
  stop: AbortSignal,
): Promise<Settled | undefined> {
  const { clock, ledger, emit } = parts;
  const until = clock.monotonicMs() + withinMs;
  for (;;) {
    try {
      return await ledger.settle(ref, result);
    } catch (error) {
      const passing = error instanceof LedgerError && error.passing;
      if (!passing || stop.aborted || clock.monotonicMs() > until) throw error;
      emit({
        type: 'ledger-failed',
        operation: `settling batch ${ref.batch} of ${ref.sink}`,
        reason: error.message,
        hint: error.hint,
      });
      await clock.sleep(SETTLE_AGAIN_MS, stop);
    }
  }
}

function eventsOf(batch: Batch, attempt: Attempt, settled: Settled, now: Date): Event[] {
  const { sink, id } = batch;
  const { before, after, verdicts } = settled;
  const count = (kind: Outcome['kind']) => attempt.outcomes.filter((outcome) => outcome.kind === kind).length;
  const delivered = batch.deliveries.filter((_, index) => verdicts[index]?.state === 'delivered');
  const events: Event[] = [
    {
      type: 'batch-settled',
      sink,
      batch: id,
      delivered: delivered.length,
      refused: count('refused'),
      unavailable: count('unavailable'),
      durationMs: Math.round(attempt.durationMs),
      reason: attempt.outcomes.find((outcome) => 'reason' in outcome)?.reason,
      secondsToDelivery: delivered
        .filter(({ replay, event }) => !replay && event !== 'erased')
        .map(({ changedAt }) => (now.getTime() - changedAt.getTime()) / 1000),
    },
  ];
  for (const [index, delivery] of batch.deliveries.entries()) {
    const verdict = verdicts[index];
    if (verdict?.state !== 'dead') continue;
    const { source, id: name } = delivery;
    const shared = {
      sink,
      source,
      lead: String(delivery.leadId),
      delivery: name,
      ofErased: delivery.event === 'erased',
      reason: verdict.reason ?? '',
    };
    if (attempt.outcomes[index]?.kind === 'refused') events.push({ type: 'delivery-refused', ...shared });
    events.push({ type: 'delivery-dead', ...shared, attempts: verdict.attempts });
  }
  if (settled.revived > 0) events.push({ type: 'deliveries-revived', sink, revived: settled.revived });
  if (after.heldSince && !before.heldSince) {
    events.push({ type: 'sink-held', sink, reason: after.heldReason ?? '', probeAt: after.probeAt });
  }
  if (before.heldSince && !after.heldSince && !after.pausedSince) {
    events.push({ type: 'sink-recovered', sink, heldMs: now.getTime() - before.heldSince.getTime() });
  }
  return events;
}

/** A sink that throws anything else has a fault of its own; its text is not shown, for it may hold a lead's. */
function faultOf(error: unknown): SinkUnavailable {
  return new SinkUnavailable(`The sink failed in an unexpected way (${nameOf(error)}).`, {
    hint: REPORT,
    cause: error,
  });
}

function unexpected(error: unknown): { message: string; hint: string } {
  return { message: `Something unexpected happened (${nameOf(error)}).`, hint: REPORT };
}

/** What kind of error it is, whatever was thrown. */
function nameOf(error: unknown): string {
  if (!(error instanceof Error)) return typeof error;
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name;
}

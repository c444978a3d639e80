import type { AttemptBatch } from '../../delivery/carrier.ts';
import type { Batch, BatchRef } from '../../leads/delivery.ts';
import { mayHaveArrived, type Outcome } from '../../leads/outcome.ts';
import type { Attempt, LedgerDelivering, Settlement } from '../../ledger/contract/ledger-delivering.ts';
import { LedgerError } from '../../ledger/contract/ledger-error.ts';
import type { OpenSink } from '../../operations/opening/open-sinks.ts';
import { reach } from '../../platform/process/failpoint.ts';
import { replacedProgram } from '../../platform/process/replaced-program.ts';
import type { Clock } from '../../platform/time/clock.ts';
import type { Emit, Event } from '../../telemetry/events.ts';
import type { Span, Tracing } from '../../telemetry/tracing.ts';
import { AttemptLease } from './attempt-lease.ts';
import { callSink, errorName, REPORT_HINT } from './call-sink.ts';

/** Finds the sink of an attempt, and keeps it open until the attempt has ended. */
export interface SinkChoice {
  /** Gives undefined, without calling `attempt`, when there is no such sink. */
  use<T>(name: string, attempt: (open: OpenSink) => Promise<T>): Promise<T | undefined>;
}

/** What all attempts of a process share. Sinks come and go with the configuration, the rest lasts. */
export interface DeliverParts {
  readonly ledger: LedgerDelivering;
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
const SETTLE_RETRY_MS = 500;

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
  const begun = await ledger.begin(ref, attemptLeaseMs(open));
  if (!begun) return emit({ type: 'batch-stale', sink: ref.sink, batch: ref.batch });
  const { batch } = begun;
  const lease = new AttemptLease(clock, begun.leasedUntil);
  const startedAt = clock.now();
  const startMs = clock.monotonicMs();
  reach('begun');
  const span = parts.tracing?.attempt(batch);
  const answered = await withoutErased(open, batch, (leads) =>
    callSink(open, leads, { clock, stop: signal, lease, traceparent: span?.traceparent }),
  );
  const outcomes = keepable(lease.wasOver ? withoutUnsent(answered) : answered, batch);
  if (span) endSpan(span, outcomes);
  reach('accepted');
  // Cut off by a stop, or with its lease over, the attempt says nothing of the destination. The same batch is attempted again,
  // unless another process has it by now.
  const said = outcomes.some(({ kind }) => kind !== 'unavailable' && kind !== 'untried');
  if (!said && (signal.aborted || lease.wasOver)) {
    if (await ledger.release(ref, answered.some(mayHaveArrived))) parts.onSettled(batch.sink);
    else emit({ type: 'batch-stale', sink: ref.sink, batch: ref.batch });
    return;
  }
  const result = { outcomes, startedAt, durationMs: clock.monotonicMs() - startMs };
  const settled = await settleSurely(parts, ref, result, attemptLeaseMs(open), signal);
  reach('settled');
  if (!settled) return emit({ type: 'batch-stale', sink: ref.sink, batch: ref.batch });
  for (const event of eventsOf(batch, result, settled, clock.now())) emit(event);
  parts.onSettled(settled.sink);
}

/** A sink that cannot be told of erased leads gets the others: what has no content would spoil the batch for them. */
async function withoutErased(
  { erasedRefusal: reason }: OpenSink,
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

/** What could not be sent in time says nothing of the destination. */
function withoutUnsent(outcomes: readonly Outcome[]): readonly Outcome[] {
  return outcomes.map((outcome) =>
    outcome.kind === 'unavailable' && outcome.unsent ? { kind: 'untried' } : outcome,
  );
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

/** A destination that is told of an erased lead may answer with what it still has of it: that is not kept. */
function keepable(outcomes: readonly Outcome[], { deliveries }: Batch): readonly Outcome[] {
  if (deliveries.every(({ event }) => event !== 'erased')) return outcomes;
  return outcomes.map((outcome) => ('answer' in outcome ? { ...outcome, answer: undefined } : outcome));
}

/** A ledger that cannot write for a moment must not make the sink get everything again: it is tried while the lease lasts. */
async function settleSurely(
  parts: DeliverParts,
  ref: BatchRef,
  result: Attempt,
  withinMs: number,
  stop: AbortSignal,
): Promise<Settlement | undefined> {
  const { clock, ledger, emit } = parts;
  const until = clock.monotonicMs() + withinMs;
  for (;;) {
    try {
      return await ledger.settle(ref, result);
    } catch (error) {
      const passing = error instanceof LedgerError && error.isTransient;
      if (!passing || stop.aborted || clock.monotonicMs() > until) throw error;
      emit({
        type: 'ledger-failed',
        operation: `settling batch ${ref.batch} of ${ref.sink}`,
        reason: error.message,
        hint: error.hint,
      });
      await clock.sleep(SETTLE_RETRY_MS, stop);
    }
  }
}

function eventsOf(batch: Batch, attempt: Attempt, settled: Settlement, now: Date): Event[] {
  const { id } = batch;
  const { sink, before, after, verdicts } = settled;
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

function unexpected(error: unknown): { message: string; hint: string } {
  return (
    replacedProgram() ?? {
      message: `Something unexpected happened (${errorName(error)}).`,
      hint: REPORT_HINT,
    }
  );
}

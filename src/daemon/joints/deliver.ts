import type { AttemptBatch } from '../../delivery/carrier.ts';
import type { Batch, BatchRef } from '../../leads/delivery.ts';
import { countStatusClasses, mayHaveBeenSent, type Outcome } from '../../leads/outcome.ts';
import type { Attempt, LedgerDelivering, Settlement } from '../../ledger/contract/ledger-delivering.ts';
import { LedgerError } from '../../ledger/contract/ledger-error.ts';
import type { CompiledMappings } from '../../mapping/compiled-mappings.ts';
import type { OpenSink } from '../../operations/opening/open-sinks.ts';
import { reach } from '../../platform/process/failpoint.ts';
import { replacedProgram } from '../../platform/process/replaced-program.ts';
import type { Clock } from '../../platform/time/clock.ts';
import type { Stopwatch } from '../../platform/time/stopwatch.ts';
import type { Emit, Event } from '../../telemetry/events.ts';
import type { Span, Tracing } from '../../telemetry/tracing.ts';
import type { SignsOfLife } from '../duties/signs-of-life.ts';
import { AttemptLease } from './attempt-lease.ts';
import { callSink, errorName, REPORT_HINT } from './call-sink.ts';
import { mapBatch } from './map-batch.ts';

/** Finds the sink of an attempt and keeps it open until the attempt has ended. */
export interface SinkChoice {
  /** Calls `attempt` with the open sink and returns the result. If there is no such sink, returns undefined without calling `attempt`. */
  use<T>(name: string, attempt: (open: OpenSink) => Promise<T>): Promise<T | undefined>;
}

/** What all attempts of a process share. */
export interface DeliverParts {
  readonly ledger: LedgerDelivering;
  /** The open sinks; a reload replaces them. */
  readonly sinks: SinkChoice;
  /** Compiles the mappings of the sinks. */
  readonly mappings: CompiledMappings;
  readonly clock: Clock;
  readonly emit: Emit;
  /** Whether other processes can see that this one is alive. Absent: no other machine can end the leases of this process. */
  readonly life?: Pick<SignsOfLife, 'isAliveSince'> | undefined;
  /** Absent: no tracing. */
  readonly tracing?: Tracing | undefined;
  /** Called with the sink's name after a batch was settled or released. */
  readonly onSettled: (sink: string) => void;
}

/** Time for settling, in ms. A lease lasts this much longer than the attempt's budget. */
const SETTLE_MS = 15_000;
const SETTLE_RETRY_MS = 500;

/** Returns the length of an attempt's lease in ms: the sink's budget plus time to settle. */
export function attemptLeaseMs({ budgetMs }: OpenSink): number {
  return budgetMs + SETTLE_MS;
}

/** The joint between ledger and sink: begins an attempt, calls the sink, settles the outcomes and emits events. */
export function deliverBatch(parts: DeliverParts): AttemptBatch {
  return async (ref, signal) => {
    try {
      // If this process has no such sink, does nothing: another process has it, or a later process will have it.
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
  const { ledger, clock, emit, life } = parts;
  const begun = await ledger.begin(ref, attemptLeaseMs(open));
  if (!begun) return emit({ type: 'batch-stale', sink: ref.sink, batch: ref.batch });
  const { batch } = begun;
  const isAliveSince = (since: Stopwatch) => life?.isAliveSince(since) ?? true;
  const lease = new AttemptLease(begun.sinceLease, begun.leasedForMs, isAliveSince);
  const startedAt = clock.now();
  const startMs = clock.monotonicMs();
  reach('begun');
  const span = parts.tracing?.attempt(batch);
  const { toSend, outcomes: outcomesOf } = await mapBatch(batch, open, parts);
  const sent = toSend
    ? await callSink(open, toSend, { clock, stop: signal, lease, traceparent: span?.traceparent })
    : [];
  const answered = outcomesOf(sent);
  const outcomes = keepable(lease.wasOver ? withoutUnsent(answered) : answered, batch);
  if (span) endSpan(span, outcomes);
  reach('accepted');
  // An attempt that was aborted by a stop, or whose lease ended, says nothing about the destination: release the batch, which is then
  // attempted again as the same batch, unless another process already has it.
  const hasAnswer = sent.some(({ kind }) => kind !== 'unavailable' && kind !== 'untried');
  if (toSend && !hasAnswer && (signal.aborted || lease.wasOver)) {
    // The destination may know the id of a lead that was sent, even if it did not accept the lead, so the next attempt must send the same content.
    if (await ledger.release(ref, answered.some(mayHaveBeenSent))) parts.onSettled(batch.sink);
    else emit({ type: 'batch-stale', sink: ref.sink, batch: ref.batch });
    return;
  }
  const durationMs = clock.monotonicMs() - startMs;
  const result = { outcomes, startedAt, durationMs, quota: open.sink.quota?.() };
  const settled = await settleSurely(parts, ref, result, attemptLeaseMs(open), signal);
  reach('settled');
  if (!settled) return emit({ type: 'batch-stale', sink: ref.sink, batch: ref.batch });
  for (const event of eventsOf(batch, result, settled, clock.now())) emit(event);
  parts.onSettled(settled.sink);
}

/** Turns the outcomes of leads that were not sent in time into `untried`, because such outcomes say nothing about the destination. */
function withoutUnsent(outcomes: readonly Outcome[]): readonly Outcome[] {
  return outcomes.map((outcome) =>
    outcome.kind === 'unavailable' && outcome.unsent ? { kind: 'untried' } : outcome,
  );
}

/** Ends the span. Leaves out the reasons, which may contain personal data: the span's error is only the HTTP status or the kind of outcome. */
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

/** Removes the answers to a batch with erased leads, because the destination may return the content that it still holds. */
function keepable(outcomes: readonly Outcome[], { deliveries }: Batch): readonly Outcome[] {
  if (deliveries.every(({ event }) => event !== 'erased')) return outcomes;
  return outcomes.map((outcome) => ('answer' in outcome ? { ...outcome, answer: undefined } : outcome));
}

/** Settles the attempt. Retries transient ledger failures for up to `withinMs`, because the sink would get an unsettled batch again. */
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
  const dead = (kind: Outcome['kind']) =>
    verdicts.filter(({ state }, index) => state === 'dead' && attempt.outcomes[index]?.kind === kind).length;
  const delivered = batch.deliveries.filter((_, index) => verdicts[index]?.state === 'delivered');
  const events: Event[] = [
    {
      type: 'batch-settled',
      sink,
      batch: id,
      delivered: delivered.length,
      refused: count('refused'),
      unavailable: count('unavailable'),
      leftOut: count('left-out'),
      dead: { refused: dead('refused'), unavailable: dead('unavailable') },
      answers: countStatusClasses(attempt.outcomes),
      durationMs: Math.round(attempt.durationMs),
      reason: attempt.outcomes.find((one) => one.kind === 'refused' || one.kind === 'unavailable')?.reason,
      secondsToDelivery: delivered
        .filter(({ isNewLead }) => isNewLead)
        .map(({ firstSeenAt }) => (now.getTime() - firstSeenAt.getTime()) / 1000),
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
  const isGone = after.pausedSince && !before.pausedSince; // the destination reported that it is gone for good
  if (before.heldSince && !after.heldSince && !isGone) {
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

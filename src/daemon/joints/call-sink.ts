import type { Batch } from '../../leads/delivery.ts';
import type { Outcome } from '../../leads/outcome.ts';
import type { OpenSink } from '../../operations/opening/open-sinks.ts';
import { replacedProgram } from '../../platform/process/replaced-program.ts';
import type { Clock } from '../../platform/time/clock.ts';
import { SinkUnavailable } from '../../sinks/sink-unavailable.ts';
import type { AttemptLease } from './attempt-lease.ts';

/** Parameters of one call to a sink. */
export interface SinkCall {
  readonly clock: Clock;
  /** Aborts when leadsync stops and the grace period for attempts in progress is over. */
  readonly stop: AbortSignal;
  readonly lease: AttemptLease;
  readonly traceparent: string | undefined;
}

/** Hint for an error that leadsync does not expect. */
export const REPORT_HINT = 'This is a fault in leadsync: please report it.';
/** Explicit abort reason: without one, each abort would create an error with a stack trace. */
const DONE = 'done';
/** Maximum time for a sink to react to an abort, in ms. `STOP_MS` applies instead if `SinkCall.stop` has aborted. */
const ABORT_MS = 1_000;
const STOP_MS = 500;

/** Calls the sink with a deadline. If the sink throws, every lead gets the error as its outcome. */
export async function callSink(
  open: OpenSink,
  batch: Batch,
  { clock, stop, lease, traceparent }: SinkCall,
): Promise<readonly Outcome[]> {
  // Aborts at the deadline, when leadsync stops, or when the sink has answered, which ends the wait for the deadline. One controller for
  // all of these, because this runs for every attempt; `AbortSignal.any` costs ten times as much.
  const call = new AbortController();
  let grace: AbortController | undefined;
  let done = false;
  const endEarly = () => {
    call.abort(stop.reason);
    grace?.abort(DONE);
  };
  if (stop.aborted) endEarly();
  else stop.addEventListener('abort', endEarly, { once: true });
  try {
    const overdue = clock.sleep(open.budgetMs, call.signal).then(async () => {
      if (done) return []; // the sink was faster: the result is unused
      call.abort();
      grace = new AbortController();
      await clock.sleep(stop.aborted ? STOP_MS : ABORT_MS, grace.signal);
      throw new SinkUnavailable(`The attempt did not end within ${Math.round(open.budgetMs / 1000)} s.`, {
        hint: 'Check whether the destination hangs.',
      });
    });
    overdue.catch(() => undefined); // the race handles the rejection, unless the sink was faster
    const endMs = clock.monotonicMs() + open.budgetMs;
    const timeLeftMs = () => endMs - clock.monotonicMs();
    lease.confirm();
    const delivered = open.sink.deliver(batch, call.signal, {
      traceparent,
      timeLeftMs,
      confirmLease: lease.confirm,
    });
    return complete(await Promise.race([delivered, overdue]), batch);
  } catch (error) {
    const outcome = (error instanceof SinkUnavailable ? error : faultOf(error)).toOutcome();
    return batch.deliveries.map(() => outcome);
  } finally {
    done = true;
    call.abort(DONE);
    grace?.abort(DONE);
    stop.removeEventListener('abort', endEarly);
  }
}

/** Requires one outcome for each delivery, because otherwise it is unknown which outcome belongs to which delivery. @throws SinkUnavailable */
function complete(outcomes: readonly Outcome[], batch: Batch): readonly Outcome[] {
  const wanted = batch.deliveries.length;
  if (Array.isArray(outcomes) && outcomes.filter(isOutcome).length === wanted && outcomes.length === wanted)
    return outcomes;
  throw new SinkUnavailable('The sink did not return an outcome for every lead.', { hint: REPORT_HINT });
}

function isOutcome(value: Outcome | null | undefined): boolean {
  return ['delivered', 'refused', 'unavailable', 'untried'].includes(value?.kind ?? '');
}

/**
 * Returns the failure to report for an error other than `SinkUnavailable`. Such an error is a bug in the sink, unless another version has
 * replaced the program on disk. Leaves out the error's message, because it may contain a lead's data.
 */
function faultOf(error: unknown): SinkUnavailable {
  const { message, hint } = replacedProgram() ?? {
    message: `The sink failed in an unexpected way (${errorName(error)}).`,
    hint: REPORT_HINT,
  };
  return new SinkUnavailable(message, { hint, cause: error });
}

/** Returns the code or class name of a thrown error, or the type of any other thrown value. */
export function errorName(error: unknown): string {
  if (!(error instanceof Error)) return typeof error;
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name;
}

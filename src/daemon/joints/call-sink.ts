import type { Batch } from '../../leads/delivery.ts';
import type { Outcome } from '../../leads/outcome.ts';
import type { OpenSink } from '../../operations/opening/open-sinks.ts';
import { replacedProgram } from '../../platform/process/replaced-program.ts';
import type { Clock } from '../../platform/time/clock.ts';
import { SinkUnavailable } from '../../sinks/sink.ts';
import type { AttemptLease } from './attempt-lease.ts';

/** What one call of a sink goes by. */
export interface SinkCall {
  readonly clock: Clock;
  /** Aborts when leadsync stops. */
  readonly stop: AbortSignal;
  readonly lease: AttemptLease;
  readonly traceparent: string | undefined;
}

/** What to do about an error that nobody thought of. */
export const REPORT_HINT = 'This is a fault in leadsync: please report it.';
/** A reason at hand: without one an error with its stack would be made for every attempt. */
const DONE = 'done';
/** How long a sink may take to notice that it was aborted, in ms; less when leadsync stops, and everything has to end. */
const ABORT_MS = 1_000;
const STOP_MS = 500;

/** Calls the sink with a deadline of its own. What it throws becomes every lead's outcome. */
export async function callSink(
  open: OpenSink,
  batch: Batch,
  { clock, stop, lease, traceparent }: SinkCall,
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
    wait.abort(DONE);
    stop.removeEventListener('abort', endEarly);
  }
}

/** What does not answer for every delivery answers for none: which outcome is whose could only be guessed. */
function complete(outcomes: readonly Outcome[], batch: Batch): readonly Outcome[] {
  const wanted = batch.deliveries.length;
  if (Array.isArray(outcomes) && outcomes.filter(isOutcome).length === wanted && outcomes.length === wanted)
    return outcomes;
  throw new SinkUnavailable('The sink did not say of every lead what became of it.', { hint: REPORT_HINT });
}

function isOutcome(value: Outcome | null | undefined): boolean {
  return ['delivered', 'refused', 'unavailable', 'untried'].includes(value?.kind ?? '');
}

/** A sink that throws anything else has a fault of its own; its text is not shown, for it may hold a lead's. */
function faultOf(error: unknown): SinkUnavailable {
  const { message, hint } = replacedProgram() ?? {
    message: `The sink failed in an unexpected way (${errorName(error)}).`,
    hint: REPORT_HINT,
  };
  return new SinkUnavailable(message, { hint, cause: error });
}

/** What kind of error it is, whatever was thrown. */
export function errorName(error: unknown): string {
  if (!(error instanceof Error)) return typeof error;
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name;
}

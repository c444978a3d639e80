import type { PollSchedule } from '../../config/contract/config.ts';
import { backOffMs } from '../../delivery/retry-policy.ts';
import type { Random } from '../../platform/time/clock.ts';
import type { Emit } from '../../telemetry/events.ts';
import { CronTimer } from './cron-timer.ts';
import { type PollFailure, type PollParts, poll } from './poll.ts';

const FIRST_BACK_OFF_MS = 1_000;
const LAST_BACK_OFF_MS = 300_000;
/** What does not come right by asking: a wrong secret or address. A listing that answers 401 or 403 may think better of it, and is asked sooner. */
const CONFIGURATION_FAILURES: ReadonlySet<string> = new Set(['credentials', 'login-needed', 'other-origin']);
/** A login may mend these. */
const LOGIN_HELPS: ReadonlySet<string> = new Set(['credentials', 'login-needed', 'login-refused']);
/** How long such a failure waits at least, in ms. */
const CONFIGURATION_BACK_OFF_MS = 60_000;
/** The ledger is asked before the service is, so trying again costs the service nothing: once there is room, leads come within seconds. */
const LAST_LEDGER_BACK_OFF_MS = 10_000;
const LONGEST_RETRY_AFTER_MS = 3_600_000;
/** How often a source that failed for its credentials looks whether somebody has logged in, in ms. */
const CHECK_LOGIN_MS = 1_000;

/** What a source is polled with again and again, until `retired` aborts; a new schedule needs a new loop. */
export interface PollLoopParts extends PollParts {
  readonly schedule: PollSchedule;
  readonly random: Random;
  /** Aborts when no further poll is to begin; the one under way ends by itself. Absent: only the stop ends the loop. */
  readonly retired?: AbortSignal;
}

/**
 * Polls a source on its schedule until the signal aborts. Polls never overlap: one that takes longer than the interval
 * makes the next one late. After a failure it backs off with jitter, and waits as long as the service asks for, within limits.
 * By cron, a time that passed since the last complete poll, during a poll or while leadsync did not run, is made up for at once.
 */
export async function pollLoop(parts: PollLoopParts, signal: AbortSignal): Promise<void> {
  const { clock, schedule, emit } = parts;
  const over = parts.retired ? AbortSignal.any([signal, parts.retired]) : signal;
  const timer =
    'cron' in schedule
      ? new CronTimer(schedule, clock, await parts.ledger.lastCompleteAt(parts.source.name))
      : undefined;
  await timer?.due(over);
  let failures = 0;
  while (!over.aborted) {
    const startMs = clock.monotonicMs();
    const lastLoginAt = await parts.source.lastLoginAt();
    timer?.restart(clock.now());
    const failure = await poll(parts, signal);
    if (signal.aborted) return;
    failures = failure ? failures + 1 : 0;
    if (failure)
      await backOff(failure, report(failure, failures, parts.random, emit), lastLoginAt, parts, over);
    else if (timer) await timer.due(over);
    else if ('everyMs' in schedule)
      await clock.sleep(Math.max(0, schedule.everyMs - (clock.monotonicMs() - startMs)), over);
  }
}

/** Waits for the next try. Another login than that of `lastLoginAt` ends the wait of a poll that failed for its credentials. */
async function backOff(
  { code }: PollFailure,
  waitMs: number,
  lastLoginAt: Date | undefined,
  { clock, source }: PollLoopParts,
  signal: AbortSignal,
): Promise<void> {
  if (!LOGIN_HELPS.has(code)) return clock.sleep(waitMs, signal);
  for (let leftMs = waitMs; leftMs > 0 && !signal.aborted; leftMs -= CHECK_LOGIN_MS) {
    const loginAt = await source.lastLoginAt();
    // Not "later": by a clock that was set since, a login may lie in the future, or another one before it.
    if (loginAt && loginAt.getTime() !== lastLoginAt?.getTime()) return;
    await clock.sleep(Math.min(leftMs, CHECK_LOGIN_MS), signal);
  }
}

/** Tells of the failure and gives the wait before the next try, in ms. */
function report(failure: PollFailure, failures: number, random: Random, emit: Emit): number {
  const first = CONFIGURATION_FAILURES.has(failure.code) ? CONFIGURATION_BACK_OFF_MS : FIRST_BACK_OFF_MS;
  const asked = Math.min(failure.retryAfterMs ?? 0, LONGEST_RETRY_AFTER_MS);
  const last = failure.code.startsWith('ledger-') ? LAST_LEDGER_BACK_OFF_MS : LAST_BACK_OFF_MS;
  const retryInMs = Math.max(asked, backOffMs(failures - 1, first, last, random));
  emit({ ...failure.report, retryInMs, failures });
  return retryInMs;
}

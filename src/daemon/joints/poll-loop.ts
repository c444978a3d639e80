import type { PollSchedule } from '../../config/contract/config.ts';
import { backOffMs } from '../../delivery/retry-policy.ts';
import type { Random } from '../../platform/time/clock.ts';
import type { Emit } from '../../telemetry/events.ts';
import { CronTimer } from './cron-timer.ts';
import { type PollFailure, type PollParts, poll } from './poll.ts';
import { PollRequest } from './poll-request.ts';

const FIRST_BACK_OFF_MS = 1_000;
const LAST_BACK_OFF_MS = 300_000;
/**
 * Codes of failures that only a person can fix, such as a wrong secret or address. A 401 or 403 in response to a listing request is not
 * among them, because it may be transient.
 */
const CONFIGURATION_FAILURES: ReadonlySet<string> = new Set(['credentials', 'login-needed', 'other-origin']);
/** Codes of failures that a login may fix. */
const LOGIN_HELPS: ReadonlySet<string> = new Set(['credentials', 'login-needed', 'login-refused']);
/** Minimum back-off after one of `CONFIGURATION_FAILURES`, in ms, before jitter. */
const CONFIGURATION_BACK_OFF_MS = 60_000;
/**
 * Maximum back-off after a ledger failure, in ms, before jitter. Short, because the poll fails before it reaches the service, and must recover soon
 * after the disk has room.
 */
const LAST_LEDGER_BACK_OFF_MS = 10_000;
/** Code of the failure of a poll that another process has ended by beginning a poll of the source. */
const FENCED = 'ledger-fenced';
/** Number of polls in a row that others may end before this is reported as a failure. Processes that hold duties end at most one. */
const FENCED_IN_ORDER = 3;
/** Code of the failure of a poll that did not reach the service, and the number in a row after which another machine may reach it better. */
const UNREACHABLE = 'unreachable';
const UNREACHABLE_FROM_HERE = 3;
const LONGEST_RETRY_AFTER_MS = 3_600_000;
/** Interval for checking for a new login during a back-off, in ms. */
const CHECK_LOGIN_MS = 1_000;

/** What the poll loop of a source works with. A changed schedule needs a new loop. */
export interface PollLoopParts extends PollParts {
  readonly schedule: PollSchedule;
  readonly random: Random;
  /** Aborts when no further poll may begin; the poll in progress continues to its end. Absent: only the signal of `pollLoop` ends the loop. */
  readonly retired?: AbortSignal;
  /** Lets another process poll the source, if one is willing. Absent: no other process can. */
  readonly preferOthers?: () => void;
  /** Lets an operator request a poll. */
  readonly request?: PollRequest;
}

/**
 * Polls a source on its schedule until the signal aborts. Polls never overlap: a poll that takes longer than the interval delays the next.
 * After a failure, backs off with jitter and respects the service's `Retry-After`, within limits. With cron, polls immediately if no poll
 * has ever been complete, or if a scheduled time has passed since the last complete poll, for example during another poll or while leadsync
 * was not running. An operator's request ends any of these waits. A poll that another process has ended is no failure of the source: this process
 * has lost the duty to poll it, or is about to notice. If several polls in a row do not reach the service, another process may poll it.
 */
export async function pollLoop(parts: PollLoopParts, signal: AbortSignal): Promise<void> {
  const { clock, schedule, emit, request = new PollRequest() } = parts;
  const over = parts.retired ? AbortSignal.any([signal, parts.retired]) : signal;
  const timer =
    'cron' in schedule
      ? new CronTimer(schedule, clock, await parts.ledger.lastCompleteAt(parts.source.name))
      : undefined;
  if (timer) await request.wait((ended) => timer.due(ended), over);
  let failures = 0;
  let unreachable = 0;
  while (!over.aborted) {
    const startMs = clock.monotonicMs();
    const lastLoginAt = await parts.source.lastLoginAt();
    timer?.restart(clock.now());
    const failure = await poll(parts, signal);
    if (signal.aborted) return;
    failures = failure ? failures + 1 : 0;
    unreachable = failure?.code === UNREACHABLE ? unreachable + 1 : 0;
    if (unreachable >= UNREACHABLE_FROM_HERE) parts.preferOthers?.();
    const retryInMs = failure && waitAfter(failure, failures, parts.random, emit);
    await request.wait(async (ended) => {
      if (failure) await backOff(failure, retryInMs ?? 0, lastLoginAt, parts, ended);
      else if (timer) await timer.due(ended);
      else if ('everyMs' in schedule)
        await clock.sleep(Math.max(0, schedule.everyMs - (clock.monotonicMs() - startMs)), ended);
    }, over);
  }
}

/** Waits before the next poll. After a failure that a login may fix, a login whose time differs from `lastLoginAt` ends the wait. */
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
    // Compare for inequality: if the clock was set in between, a newer login may have an earlier time.
    if (loginAt && loginAt.getTime() !== lastLoginAt?.getTime()) return;
    await clock.sleep(Math.min(leftMs, CHECK_LOGIN_MS), signal);
  }
}

/** Returns the wait before the next poll, in ms. Reports the failure, unless it is none of the source. */
function waitAfter(failure: PollFailure, failures: number, random: Random, emit: Emit): number {
  if (failure.code === FENCED && failures < FENCED_IN_ORDER) return FIRST_BACK_OFF_MS;
  return report(failure, failures, random, emit);
}

/** Reports the failure and returns the wait before the next poll, in ms. */
function report(failure: PollFailure, failures: number, random: Random, emit: Emit): number {
  const first = CONFIGURATION_FAILURES.has(failure.code) ? CONFIGURATION_BACK_OFF_MS : FIRST_BACK_OFF_MS;
  const asked = Math.min(failure.retryAfterMs ?? 0, LONGEST_RETRY_AFTER_MS);
  const last = failure.code.startsWith('ledger-') ? LAST_LEDGER_BACK_OFF_MS : LAST_BACK_OFF_MS;
  const retryInMs = Math.max(asked, backOffMs(failures - 1, first, last, random));
  emit({ ...failure.report, retryInMs, failures });
  return retryInMs;
}

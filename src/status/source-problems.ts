import type { PollRow } from '../ledger/contract/status-rows.ts';
import { countOf, printLength, printMoment, printMomentAndAge } from '../platform/text/format.ts';
import { nextCronTime } from './cron-times.ts';
import { nextPollAfter } from './next-poll.ts';
import { readPollError } from './poll-error.ts';
import { LATE_MS, listOf, type Problem, type ProblemContext, problem, SEE_LOG } from './problem.ts';
import { failedPoll, shrunkListing } from './shared-problems.ts';
import type { SourceView } from './status-view.ts';

/** A listing may be read for this long (the default `deadline`, and a little), in ms. */
const LONGEST_POLL_MS = 15 * 60_000;
/** A service may ask to be left alone for an hour, in ms. */
const LATE_AFTER_FAILURE_MS = 75 * 60_000;

/** What is wrong with one source, by its last polls. */
export function findSourceProblems(source: SourceView, given: ProblemContext): Problem[] {
  const { name, config, status, unread } = source;
  const { command } = given;
  if (!config && !unread)
    return [
      problem(
        'source_removed',
        name,
        `${name} is not in the configuration any more: it is not polled.`,
        'Put it back to poll it again; its leads stay in the ledger either way.',
      ),
    ];
  if (!status?.lastPoll)
    return [problem('never_polled', name, `${name} was never polled.`, firstPoll(source, given))];
  return [
    ...lastFailure(source, given),
    ...latePoll(source, given),
    ...listOf(shrunkListing(name, status, given)),
    ...setAside(name, status.rejected, command),
  ];
}

function firstPoll({ config }: SourceView, { now, running, command }: ProblemContext): string {
  if (!running) return `${command('run')} starts that.`;
  if (config === undefined || 'everyMs' in config.poll) return SEE_LOG;
  const at = nextCronTime(config.poll, now);
  return at ? `Its first poll is at ${printMomentAndAge(at, now)}.` : 'Its `poll.cron` names no time.';
}

function lastFailure({ name, status }: SourceView, given: ProblemContext): Problem[] {
  const poll = status?.lastPoll;
  if (poll?.status !== 'failed' && poll?.status !== 'partial') return [];
  const { code = '', reason } = readPollError(poll.error ?? 'no reason was kept');
  return [failedPoll(name, { code, reason, isPartial: poll.status === 'partial' }, given.running, given)];
}

function latePoll({ name, config, status }: SourceView, { now, running }: ProblemContext): Problem[] {
  const poll = status?.lastPoll;
  if (!running || !config || !poll) return []; // when nothing runs, that is said once
  const { poll: schedule } = config;
  const graceMs = 'everyMs' in schedule ? schedule.everyMs + LATE_MS : 2 * LATE_MS;
  const until = new Date(now.getTime() - Math.max(graceMs, roomOf(poll.status)));
  const lastAt = lastPolledAt(poll, status.lastSuccessAt, now);
  if (lastAt && nextPollAfter(schedule, lastAt, until) === undefined) return [];
  const when =
    'everyMs' in schedule
      ? `every ${printLength(schedule.everyMs)}`
      : `by cron ${JSON.stringify(schedule.cron)}${schedule.timezone ? ` (${schedule.timezone})` : ''}`;
  const last = lastAt
    ? `and was last polled ${printMomentAndAge(lastAt, now)}`
    : `and no poll has begun since the clock was set back: the last one bears the time ${printMoment(poll.startedAt)}`;
  return [problem('poll_late', name, `${name} is polled ${when}, ${last}.`, SEE_LOG)];
}

/**
 * When a source was last polled, by the present clock. A poll that bears a future time says nothing of that; the last complete
 * listing does, whose time is corrected when the clock is set back. Undefined: that lies in the future as well.
 */
function lastPolledAt(
  { startedAt, status }: PollRow,
  lastSuccessAt: Date | undefined,
  now: Date,
): Date | undefined {
  if (startedAt.getTime() <= now.getTime() + LATE_MS) return startedAt;
  if (status === 'failed' || status === 'partial') return now; // which is told already
  return lastSuccessAt && lastSuccessAt.getTime() <= now.getTime() + LATE_MS ? lastSuccessAt : undefined;
}

/** How late the next poll may be because of this one, in ms. */
function roomOf(status: string): number {
  if (status === 'running') return LONGEST_POLL_MS;
  return status === 'failed' || status === 'partial' ? LATE_AFTER_FAILURE_MS : 0;
}

function setAside(name: string, rejected: number, command: ProblemContext['command']): Problem[] {
  if (rejected === 0) return [];
  const leads = `${countOf(rejected, 'lead')} of the last complete listing`;
  return [
    problem(
      'leads_rejected',
      name,
      `${name}: ${leads} broke the service's description and ${rejected === 1 ? 'was' : 'were'} set aside.`,
      `${command('trace LEAD')} says why, and so does the table rejected_leads of the ledger. Each comes in when it comes right.`,
    ),
  ];
}

import type { StatusCode } from '../../leads/problems.ts';
import type { StoredPoll } from '../../ledger/contract/page-rows.ts';
import type { PollRow } from '../../ledger/contract/status-rows.ts';
import { printLength, printMoment, printMomentAndAge } from '../../platform/text/human-readable.ts';
import { nextPollAfter } from '../cron-times.ts';
import { readPollError } from '../poll-error.ts';
import type { SourceView } from '../status-view.ts';
import { failedPoll, rejectedLeads, shrunkListing } from './poll-checks.ts';
import {
  commandInText,
  LATE_MS,
  listOf,
  type Problem,
  type ProblemContext,
  problem,
  SEE_LOG,
} from './problem.ts';

/** Maximum duration of a poll, in ms: the default `deadline` plus a margin. */
const LONGEST_POLL_MS = 15 * 60_000;
/** Maximum time from a failed poll to the next one, in ms. leadsync follows a `Retry-After` of up to one hour. */
const LATE_AFTER_FAILURE_MS = 75 * 60_000;

/** What the problems of a source depend on, apart from the source. */
type SourceContext = Pick<ProblemContext, 'now' | 'command' | 'running'>;

/** Returns the codes of the problems of one source, by which pages mark it. */
export function sourceProblemCodes(source: SourceView, now: Date): StatusCode[] {
  // Pages are available only while leadsync is running.
  return findSourceProblems(source, { now, command: commandInText, running: true }).map(({ code }) => code);
}

/**
 * Returns the codes of the problems that one poll shows: that it failed or was refused, that its listing is far smaller than earlier
 * ones, or that its listing has rejected leads.
 */
export function pollProblemCodes(poll: StoredPoll): StatusCode[] {
  const { source, status, error } = poll;
  if (status === 'failed' || status === 'partial') {
    const { code = '', reason } = readPollError(error ?? '');
    const failure = { code, reason, isPartial: status === 'partial' };
    return [failedPoll(source, failure, true, { command: commandInText }).code];
  }
  return [
    ...(poll.is_shrunk ? ['listing_shrunk' as const] : []),
    ...(poll.listing_rejected > 0 ? ['leads_rejected' as const] : []),
  ];
}

/** Returns the problems of one source, according to its last polls. */
export function findSourceProblems(source: SourceView, context: SourceContext): Problem[] {
  const { name, config, status, unread } = source;
  if (!config && !unread)
    return [
      problem(
        'source_removed',
        name,
        `${name} is no longer in the configuration, so leadsync does not poll it.`,
        'Add it again to poll it. Its leads stay in the ledger in any case.',
      ),
    ];
  if (!status?.lastPoll)
    return [
      problem(
        'never_polled',
        name,
        `${name} has never been polled.`,
        context.running ? SEE_LOG : `${context.command('run')} starts the polls.`,
      ),
    ];
  return [
    ...lastFailure(source, context),
    ...latePoll(source, context),
    ...listOf(shrunkListing(name, status, context, config?.options?.grant)),
    ...listOf(rejectedLeads(name, status.rejected, context)),
  ];
}

/**
 * Returns the last poll of a source if it failed. While a poll runs, returns the one before it if that one failed, except because leadsync stopped: a
 * failure lasts until a poll succeeds.
 */
export function lastFailedPoll(status: SourceView['status']): PollRow | undefined {
  const { lastPoll: last, failedBefore: before } = status ?? {};
  if (last?.status === 'running')
    return readPollError(before?.error ?? '').code === undefined ? undefined : before;
  return last?.status === 'failed' || last?.status === 'partial' ? last : undefined;
}

function lastFailure({ name, status }: SourceView, context: SourceContext): Problem[] {
  const poll = lastFailedPoll(status);
  if (!poll) return [];
  const { code = '', reason } = readPollError(poll.error ?? 'no reason was recorded');
  const failure = { code, reason, isPartial: poll.status === 'partial', since: status?.failingSince };
  const isRepeated = failure.since !== undefined && failure.since < poll.startedAt;
  return [
    failedPoll(name, isRepeated ? failure : { ...failure, since: undefined }, context.running, context),
  ];
}

function latePoll({ name, config, status }: SourceView, { now, running }: SourceContext): Problem[] {
  const poll = status?.lastPoll;
  if (!running || !config || !poll) return []; // not_running already reports it
  const { poll: schedule } = config;
  const graceMs = 'everyMs' in schedule ? schedule.everyMs + LATE_MS : 2 * LATE_MS;
  const until = new Date(now.getTime() - Math.max(graceMs, toleranceOf(poll.status)));
  const lastAt = lastPolledAt(poll, status.lastSuccessAt, now);
  if (lastAt && nextPollAfter(schedule, lastAt, until) === undefined) return [];
  const when =
    'everyMs' in schedule
      ? `every ${printLength(schedule.everyMs)}`
      : `by cron ${JSON.stringify(schedule.cron)}${schedule.timezone ? ` (${schedule.timezone})` : ''}`;
  const last = lastAt
    ? `but was last polled ${printMomentAndAge(lastAt, now)}`
    : `and no poll has started since the clock was set back: the last one is dated ${printMoment(poll.startedAt)}`;
  return [problem('poll_late', name, `${name} should be polled ${when}, ${last}.`, SEE_LOG)];
}

/**
 * Returns when a source was last polled, by the current clock. If the last poll has a future time, the clock was set back. In that case,
 * returns `now` if that poll failed, because the failure is already reported; otherwise returns the time of the last complete listing,
 * which the ledger corrects when the clock is set back, or undefined if that time is in the future as well.
 */
function lastPolledAt(
  { startedAt, status }: PollRow,
  lastSuccessAt: Date | undefined,
  now: Date,
): Date | undefined {
  if (startedAt.getTime() <= now.getTime() + LATE_MS) return startedAt;
  if (status === 'failed' || status === 'partial') return now; // the failure is already reported
  return lastSuccessAt && lastSuccessAt.getTime() <= now.getTime() + LATE_MS ? lastSuccessAt : undefined;
}

/** Returns how late the next poll may be if the last one has this status, in ms. */
function toleranceOf(status: string): number {
  if (status === 'running') return LONGEST_POLL_MS;
  return status === 'failed' || status === 'partial' ? LATE_AFTER_FAILURE_MS : 0;
}

import { fallenFrom } from '../leads/listing-fall.ts';
import type { PollRow, SourceStatus } from '../ledger/contract/shown.ts';
import { countOf, printLength, printMoment, printMomentAndAge } from '../platform/text/format.ts';
import { NEEDS_OPERATOR } from '../telemetry/events/source-events.ts';
import { nextCronTime } from './cron-times.ts';
import { nextPollAfter } from './next-poll.ts';
import { readPollError } from './poll-error.ts';
import type { SourceView } from './status-view.ts';
import { type Circumstances, critical, LATE_MS, SEE_LOG, type Trouble, warning } from './trouble.ts';

/** A listing may be read for this long (the default `deadline`, and a little), in ms. */
const LONGEST_POLL_MS = 15 * 60_000;
/** A service may ask to be left alone for an hour, in ms. */
const LATE_AFTER_FAILURE_MS = 75 * 60_000;

/** What is wrong with one source, by its last polls. */
export function sourceTroubles(source: SourceView, given: Circumstances): Trouble[] {
  const { name, config, status, unread } = source;
  const { command } = given;
  if (!config && !unread)
    return [
      warning(
        name,
        `${name} is not in the configuration any more: it is not polled.`,
        'Put it back to poll it again; its leads stay in the ledger either way.',
      ),
    ];
  if (!status?.lastPoll) return [warning(name, `${name} was never polled.`, firstPoll(source, given))];
  return [
    ...failedPoll(source, given),
    ...latePoll(source, given),
    ...shrunk(name, status, command),
    ...setAside(name, status.rejected, command),
  ];
}

function firstPoll({ config }: SourceView, { now, running, command }: Circumstances): string {
  if (!running) return `${command('run')} starts that.`;
  if (config === undefined || 'everyMs' in config.poll) return SEE_LOG;
  const at = nextCronTime(config.poll, now);
  return at ? `Its first poll is at ${printMomentAndAge(at, now)}.` : 'Its `poll.cron` names no time.';
}

function failedPoll({ name, status }: SourceView, { running, command }: Circumstances): Trouble[] {
  const poll = status?.lastPoll;
  if (poll?.status !== 'failed' && poll?.status !== 'partial') return [];
  const { code = '', reason } = readPollError(poll.error ?? 'no reason was kept');
  const how = poll.status === 'failed' ? 'failed' : 'broke off';
  const what = `${name}: the last poll ${how}: ${reason}`;
  if (code === 'login-refused') return [critical(name, what, ifRevoked(name, command))];
  if (code === 'other-origin') return [critical(name, what, otherOrigin(name, command))];
  const byItself = running ? 'leadsync tries again by itself; ' : '';
  const behind =
    poll.status === 'partial' ? 'Leads that are listed behind that place are held up until then. ' : '';
  const before = NEEDS_OPERATOR.has(code)
    ? `Waiting does not mend this: ${remedy(code, name, command)}; `
    : byItself;
  return [critical(name, what, `${behind}${before}${command('check')} tries now.`)];
}

/** What somebody has to do about a poll that failed with one of the codes of `NEEDS_OPERATOR`. */
function remedy(code: string, name: string, command: Circumstances['command']): string {
  if (code === 'login-needed')
    return `${command(`login ${name}`)} logs a person in again; where the configuration has changed, correct it and then ${command('reload')}`;
  if (code === 'credentials')
    return `check \`client_id\` and \`client_secret\` at the source ${name} in the configuration, and what else it names, then ${command('reload')}`;
  return `correct what it names, then ${command('reload')}`;
}

function ifRevoked(name: string, command: Circumstances['command']): string {
  return `If the login was revoked, do not wait: ${command(`login ${name}`)} logs a person in again; ${command('check')} tries now.`;
}

function otherOrigin(name: string, command: Circumstances['command']): string {
  return `Waiting does not mend this. If the same service has moved, ${command(`moved ${name}`)} says so; if that is another service or account, give the source another name, then ${command('reload')}.`;
}

function latePoll({ name, config, status }: SourceView, { now, running }: Circumstances): Trouble[] {
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
  return [critical(name, `${name} is polled ${when}, ${last}.`, SEE_LOG)];
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

function shrunk(name: string, status: SourceStatus, command: Circumstances['command']): Trouble[] {
  const before = fallenFrom(status);
  if (before === undefined) return [];
  const { listed } = status;
  const what =
    listed === 0
      ? `${name} lists no lead any more, and has listed ${countOf(before, 'lead')} before.`
      : `${name} lists ${countOf(listed, 'lead')}, and listed ${countOf(before, 'lead')} within a week before.`;
  const end = listed === 0 ? 'when leads are listed again' : 'when the listing is back, or after a week';
  const next = `See whether this is the right account, and what its scope lets it see; ${command(`login ${name}`)} logs a person in again. Nothing is removed from the ledger: ${command('query "SELECT * FROM v_gone_leads"')} shows which leads are gone, and so does the page Leads. This ends ${end}.`;
  return [warning(name, what, next)];
}

function setAside(name: string, rejected: number, command: Circumstances['command']): Trouble[] {
  if (rejected === 0) return [];
  const leads = `${countOf(rejected, 'lead')} of the last complete listing`;
  return [
    warning(
      name,
      `${name}: ${leads} broke the service's description and ${rejected === 1 ? 'was' : 'were'} set aside.`,
      `${command('trace LEAD')} says why, and so does the table rejected_leads of the ledger. Each comes in when it comes right.`,
    ),
  ];
}

import { printLength, sentence } from '../platform/in-words.ts';
import { type Event, type FailedDelivery, NEEDS_SOMEBODY } from './events.ts';

/** How loud a line is; the names are those of the configuration's `log.level`. */
export type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error';

/** An event as one line of the log. */
export interface LogLine {
  readonly level: LogLevel;
  /** One plain sentence that is enough by itself, for people. */
  readonly message: string;
  /** The event's own values, for machines. */
  readonly fields: Readonly<Record<string, unknown>>;
}

/**
 * Says what an event means to an operator. `debug` is what happens all day when all is well, `info` is news,
 * `warn` leadsync copes with by itself, `error` waits for somebody to do something.
 */
export function logLine(event: Event): LogLine {
  const { type: _, ...fields } = event;
  return { level: levelOf(event), message: messageOf(event), fields };
}

function levelOf(event: Event): LogLevel {
  switch (event.type) {
    case 'poll-started':
    case 'batch-stale': // by design: a batch may be offered twice, and is attempted once
    case 'delivery-refused': // the line of its death says the same, louder
      return 'debug';
    case 'poll-finished':
      return event.new + event.changed > 0 ? 'info' : 'debug';
    case 'batch-settled':
      return event.unavailable > 0 ? 'warn' : event.refused > 0 ? 'info' : 'debug';
    case 'started':
    case 'stopping':
    case 'configured':
    case 'reloaded':
    case 'poll-progress':
    case 'token-renewed':
    case 'backfill':
    case 'sink-recovered':
    case 'sink-resumed':
    case 'carrier-recovered':
    case 'deliveries-revived':
    case 'alert-over':
    case 'alert-sent':
    case 'retained':
    case 'export-made':
    case 'ledger-upgraded':
      return 'info';
    case 'stopped':
      return event.clean ? 'info' : 'warn';
    case 'poll-failed':
      return NEEDS_SOMEBODY.has(event.code) ? 'error' : 'warn';
    case 'start-waiting':
    case 'erased-again':
    case 'listing-emptied':
    case 'leads-rejected':
    case 'token-fallback':
    case 'sink-held':
    case 'sink-paused':
    case 'carrier-warning':
    case 'carrier-replaced':
    case 'clock-set-back':
    case 'program-replaced':
    case 'ledger-held-up':
    case 'ledger-restored':
    case 'config-warning':
    case 'check-failed':
    case 'mirror-failed':
    case 'export-failed':
    case 'alert':
    case 'alert-unsent':
    case 'alerts-unkept':
    case 'traces-unsent':
      return 'warn';
    case 'delivery-dead':
    case 'carrier-unavailable':
    case 'ledger-failed':
    case 'ledger-replaced':
    case 'reload-failed':
      return 'error';
    default:
      return event satisfies never;
  }
}

/** Numbers that say how many, how long or when; not those that say what: `503`. */
const VARYING = /\d{4,}|\d+(?:\.\d+)?(?= (?:ms|s|min|h|days?|leads?|bytes)\b)|\d\d:\d\d(?::\d\d)?(?:\.\d+)?/g;

/** News that can come again and again, beside what is at least a warning. */
const CAN_REPEAT: ReadonlySet<Event['type']> = new Set([
  'carrier-recovered',
  'sink-recovered',
  'sink-resumed',
  'token-renewed',
]);

/**
 * Which lines are the same in the eyes of somebody who reads the log, save for amounts and times. Undefined for one that is always
 * written: each is about another lead, or comes once.
 */
export function kindOf(event: Event, level: LogLevel): string | undefined {
  const { type } = event;
  if (type === 'delivery-dead' || type === 'stopped') return undefined;
  if (level !== 'warn' && level !== 'error' && !CAN_REPEAT.has(type)) return undefined;
  const {
    source,
    sink,
    export: exported,
    code,
    reason,
    reasons,
    operation,
    faults,
  } = event as Partial<Record<string, unknown>>;
  const about = [
    type,
    source,
    sink,
    exported,
    code,
    reason,
    reasons,
    faults,
    String(operation).replace(/batch \S+/, 'a batch'),
  ];
  return JSON.stringify(about).replace(VARYING, '#');
}

/** What an event tells the state of, if it does: the next of the same makes it untrue. */
export function stateOf(event: Event): string | undefined {
  switch (event.type) {
    case 'sink-held':
    case 'sink-recovered':
    case 'sink-paused':
    case 'sink-resumed':
      return `sink ${event.sink}`;
    case 'carrier-unavailable':
    case 'carrier-recovered':
      return 'carrier';
    default:
      return undefined;
  }
}

/** So many faults of a configuration stand in a line. */
const FAULTS_SHOWN = 3;

function withoutStop(text: string): string {
  return text.replace(/\.$/, '');
}

function messageOf(event: Event): string {
  switch (event.type) {
    case 'started':
      return `leadsync ${event.version} runs: ${count(event.sources, 'source')}, ${count(event.sinks, 'sink')}, carrier ${event.carrier}, data in ${event.dataDir}.`;
    case 'configured':
      return `Since the last run: ${event.changes.join('; ')}.`;
    case 'reloaded':
      return reloaded(event);
    case 'reload-failed':
      return reloadFailed(event);
    case 'stopping':
      return event.graceMs > 0
        ? `Stopping on ${event.signal}; what is under way has ${seconds(event.graceMs)}.`
        : `${event.signal}: stopping.`;
    case 'stopped':
      return event.clean
        ? 'Stopped.'
        : 'Stopped before everything under way had ended; the next start goes on from there.';
    case 'poll-started':
      return `Source ${event.source}: poll ${event.poll} starts.`;
    case 'poll-progress':
      return `Source ${event.source}: ${count(event.listed, 'lead')} read, ${event.recorded} recorded, ${Math.round(event.leadsPerSecond)} a second.`;
    case 'poll-finished':
      return pollFinished(event);
    case 'poll-failed':
      return `Source ${event.source}: the poll failed (${event.failures} in a row). ${event.reason} ${event.hint} Next try in ${seconds(event.retryInMs)}.`;
    case 'listing-emptied':
      return `Source ${event.source}: the listing is empty and had ${count(event.before, 'lead')} before. Nothing is removed; ask the service if that is right.`;
    case 'leads-rejected':
      return `Source ${event.source}: ${count(event.rejected, 'lead')} set aside for breaking the service's description: ${event.reasons.map(withoutStop).join('; ')}.`;
    case 'token-renewed':
      return `Source ${event.source}: new access token by ${event.grant}, ${event.expiresAt === undefined ? 'with no stated end' : `good until ${event.expiresAt.toISOString()}`}.`;
    case 'token-fallback':
      return `Source ${event.source}: the stored token is of no use, a new one is asked for with the client's own credentials. ${event.reason}`;
    case 'backfill':
      return `Sink ${event.sink}: ${count(event.owed, 'earlier lead')} owed, ${event.skipped} skipped${event.done ? '.' : ' so far.'}`;
    case 'batch-settled':
      return `Sink ${event.sink}: ${event.delivered} delivered, ${event.refused} refused, ${event.unavailable} not brought, in ${seconds(event.durationMs)}.${event.reason === undefined ? '' : ` ${event.reason}`}`;
    case 'delivery-refused':
      return `Sink ${event.sink} refused ${whatFailed(event)}. ${event.reason}`;
    case 'delivery-dead':
      return `Sink ${event.sink}: gave up ${whatFailed(event)} after ${count(event.attempts, 'attempt')}. ${event.reason} ${whereAnswered(event)} Once mended: \`leadsync retry ${event.delivery}\`.`;
    case 'deliveries-revived':
      return `Sink ${event.sink}: ${count(event.revived, 'lead')} given up a moment ago ${event.revived === 1 ? 'waits' : 'wait'} again, because it refuses every lead.`;
    case 'clock-set-back':
      return `The clock was set back by ${seconds(event.byMs)}. Deliveries that would have waited for a time that comes again, and are now due as much earlier: ${event.moved}.`;
    case 'batch-stale':
      return `Sink ${event.sink}: batch ${event.batch} came under a lease that is no longer current; nothing was done or recorded.`;
    case 'sink-held':
      return `Sink ${event.sink} is held, its leads wait. ${event.reason}${event.probeAt === undefined ? '' : ` Next probe at ${event.probeAt.toISOString()}.`}`;
    case 'sink-recovered':
      return `Sink ${event.sink} works again after ${seconds(event.heldMs)}.`;
    case 'sink-paused':
      return `Sink ${event.sink} is paused, its leads wait. Why: ${sentence(event.reason)} To go on: \`leadsync resume ${event.sink}\`.`;
    case 'sink-resumed':
      return `Sink ${event.sink} is resumed.`;
    case 'carrier-unavailable':
      return `The queue cannot be used; leads are recorded and wait. ${event.reason} ${event.hint}`;
    case 'carrier-recovered':
      return `The queue is back after ${seconds(event.downMs)}.`;
    case 'carrier-warning':
      return `The queue: ${event.reason} ${event.hint}`;
    case 'carrier-replaced':
      return `Sink ${event.sink}: its queue's worker began nothing for ${seconds(event.silentMs)} while ${count(event.waiting, 'batch', 'batches')} waited for it; a new one has taken its place. If this comes again, see whether something between here and Redis drops connections.`;
    case 'config-warning':
      return `The configuration is valid, with a warning: ${sentence(event.warning)} \`leadsync validate\` shows it, too.`;
    case 'ledger-failed':
      return `The ledger failed while ${event.operation}. ${event.reason} ${event.hint}`;
    case 'ledger-replaced':
      return `The ledger in ${event.dataDir} was removed or replaced while leadsync ran. What is recorded now would be in no file that the next start finds, so leadsync ends. Put the ledger back, and start leadsync again.`;
    case 'program-replaced':
      return 'leadsync was replaced by another version while this one runs. Restart it: what this one has not loaded yet, such as a new type of sink, it cannot load any more. It delivers what it can meanwhile, and nothing is lost.';
    case 'ledger-upgraded':
      return `The ledger was upgraded from schema ${event.fromSchema} to ${event.toSchema}. ${event.copy === undefined ? `No copy of it was kept as it was before: ${event.reason}.` : `${event.copy} is the ledger as it was before, in case you go back to the earlier leadsync. It is removed within a week.`}`;
    case 'start-waiting':
      return `There is no ledger in ${event.dataDir}, and leadsync does not start before it knows whether there was one: ${event.reasons.join(' ')} It asks again for ${printLength(event.patienceMs)} and starts by itself if nothing is found. If this is a new installation and you do not want to wait, stop it and make the ledger with \`leadsync ledger accept\`.`;
    case 'ledger-restored':
      return `The ledger in ${event.dataDir} is a copy, or was restored from a backup. What was delivered after the backup was made may be delivered again, mostly under the same ids. There is nothing to do; \`leadsync reconcile\` compares the sinks with the ledger.`;
    case 'ledger-held-up':
      return `Somebody's query has held a state of the ledger for long: ${Math.round(event.bytes / 1024 ** 2)} MB beside its file wait for it to end. End it, or let it ask in shorter pieces; deliveries go on meanwhile.`;
    case 'retained':
      return `Removed what was to be kept no longer: the content of ${count(event.leads, 'lead')} and of ${count(event.versions, 'earlier version')}, ${count(event.attempts, 'attempt')}, ${count(event.rejected, 'rejected lead')}. Every id is kept.`;
    case 'erased-again':
      return `This ledger is from before ${count(event.leads, 'lead')} ${event.leads === 1 ? 'was' : 'were'} erased: erased once more. \`leadsync erase --yes\` says which places were reached.`;
    case 'export-made':
      return `Export ${event.export}: ${count(event.rows, 'row')} in ${event.place}, in ${seconds(event.durationMs)}.${event.removed > 0 ? ` Older ones removed: ${event.removed}.` : ''}`;
    case 'export-failed':
      return `Export ${event.export} failed (${event.failures} in a row). ${event.reason} ${event.hint} Next try in ${seconds(event.retryInMs)}; deliveries go on.`;
    case 'mirror-failed':
      return `What the ledger knows beside the leads was not brought to sink ${event.sink}; leads are delivered. ${event.reason} ${event.hint}`;
    case 'alert':
      return `Alert ${event.condition}${event.lasts ? ', still' : ''}. ${event.reason} ${event.hint}`;
    case 'alert-over':
      return `Alert ${event.condition} is over after ${seconds(event.lastedMs)}. ${event.reason}`;
    case 'alert-sent':
      return `${event.to} was told: ${count(event.notices, 'notice')}.`;
    case 'alert-unsent':
      return `${event.to} could not be told what is wrong. ${event.reason} ${event.hint} Next try in ${seconds(event.retryInMs)}; deliveries go on.`;
    case 'alerts-unkept':
      return `alerts.json in the data directory cannot be written (${event.reason}): after a restart, notices may come twice.`;
    case 'traces-unsent':
      return `Traces cannot be sent, and are dropped until they can. ${event.reason} See OTEL_EXPORTER_OTLP_ENDPOINT.`;
    case 'check-failed':
      return `Sink ${event.sink} does not look right. ${event.reason} ${event.hint}`;
    default:
      return event satisfies never;
  }
}

function whatFailed({ lead, source, ofErased }: FailedDelivery): string {
  return ofErased ? `the word that lead ${lead} of ${source} is erased` : `lead ${lead} of ${source}`;
}

function whereAnswered({ lead, ofErased }: FailedDelivery): string {
  return ofErased
    ? 'What it answered is not kept, for it may name the person: ask whoever runs it.'
    : `What it answered: \`leadsync trace ${lead} --show-data\`.`;
}

function reloaded({ trigger, generation, changes, restart }: Extract<Event, { type: 'reloaded' }>): string {
  const what = changes.length > 0 ? `${changes.join('; ')}.` : 'Nothing has changed.';
  const later = restart.length > 0 ? ` Only a restart changes ${restart.join(', ')}.` : '';
  return `The configuration was reloaded (${trigger}), generation ${generation}. ${what}${later}`;
}

function reloadFailed({ trigger, generation, faults }: Extract<Event, { type: 'reload-failed' }>): string {
  const left = faults.length - FAULTS_SHOWN;
  const more = left > 0 ? ` And ${left} more.` : '';
  return `The configuration was not reloaded (${trigger}); generation ${generation} stays in force. ${faults.slice(0, FAULTS_SHOWN).join('. ')}.${more} \`leadsync validate\` shows every fault.`;
}

function pollFinished(event: Extract<Event, { type: 'poll-finished' }>): string {
  const start = `Source ${event.source}:`;
  if (event.status === 'unchanged') return `${start} the listing has not changed.`;
  const aside = event.rejected > 0 ? `, ${event.rejected} set aside` : '';
  return `${start} ${event.new} new and ${event.changed} changed of ${count(event.listed, 'lead')}${aside}, in ${seconds(event.durationMs)}.`;
}

function count(n: number, what: string, many = `${what}s`): string {
  return `${n} ${n === 1 ? what : many}`;
}

function seconds(ms: number): string {
  return ms < 9_950 ? `${(ms / 1000).toFixed(1)} s` : `${Math.round(ms / 1000)} s`;
}

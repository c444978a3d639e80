import { printSeconds, sentence } from '../../platform/text/format.ts';
import { eventKind } from '../event-kind.ts';
import { count } from './wording.ts';

/** A delivery that a sink refused, or that was given up. */
export interface FailedDelivery {
  readonly sink: string;
  readonly source: string;
  readonly lead: string;
  readonly delivery: string;
  /** Whether it was to tell the sink that the lead is erased: the sink's answer to that is not kept. */
  readonly ofErased: boolean;
  readonly reason: string;
}

const ofSink = ({ sink }: { sink: string }): string => `sink ${sink}`;

/** Sinks, their batches, and the deliveries that failed. */
export const sinkEvents = {
  backfill: eventKind<{ sink: string; owed: number; skipped: number; done: boolean }>({
    level: 'info',
    fields: ['sink', 'owed', 'skipped', 'done'],
    message: ({ sink, owed, skipped, done }) =>
      `Sink ${sink}: ${count(owed, 'earlier lead')} owed, ${skipped} skipped${done ? '.' : ' so far.'}`,
  }),

  /**
   * `reason`: why the first failed delivery of the batch failed. `secondsToDelivery`: for each delivered lead, seconds since its
   * content was first listed; without replays and erasures.
   */
  'batch-settled': eventKind<{
    sink: string;
    batch: string;
    delivered: number;
    refused: number;
    unavailable: number;
    durationMs: number;
    reason?: string | undefined;
    secondsToDelivery: readonly number[];
  }>({
    level: ({ refused, unavailable }) => (unavailable > 0 ? 'warn' : refused > 0 ? 'info' : 'debug'),
    fields: ['sink', 'batch', 'delivered', 'refused', 'unavailable', 'durationMs', 'reason'],
    message: ({ sink, delivered, refused, unavailable, durationMs, reason }) =>
      `Sink ${sink}: ${delivered} delivered, ${refused} refused, ${unavailable} not brought, in ${printSeconds(durationMs)}.${reason === undefined ? '' : ` ${reason}`}`,
  }),

  /** A batch may be offered twice by design, and is attempted once. */
  'batch-stale': eventKind<{ sink: string; batch: string }>({
    level: 'debug',
    fields: ['sink', 'batch'],
    message: ({ sink, batch }) =>
      `Sink ${sink}: batch ${batch} came under a lease that is no longer current; nothing was done or recorded.`,
  }),

  /** At `debug`, because the delivery's death is logged louder. */
  'delivery-refused': eventKind<FailedDelivery>({
    level: 'debug',
    fields: ['sink', 'source', 'lead', 'delivery', 'ofErased', 'reason'],
    message: (event) => `Sink ${event.sink} refused ${whatFailed(event)}. ${event.reason}`,
  }),

  'delivery-dead': eventKind<FailedDelivery & { attempts: number }>({
    level: 'error',
    throttled: false,
    fields: ['sink', 'source', 'lead', 'delivery', 'ofErased', 'reason', 'attempts'],
    message: (event) =>
      `Sink ${event.sink}: gave up ${whatFailed(event)} after ${count(event.attempts, 'attempt')}. ${event.reason} ${whereAnswered(event)} Once mended: \`leadsync retry ${event.delivery}\`.`,
  }),

  'deliveries-revived': eventKind<{ sink: string; revived: number }>({
    level: 'info',
    fields: ['sink', 'revived'],
    message: ({ sink, revived }) =>
      `Sink ${sink}: ${count(revived, 'lead')} given up a moment ago ${revived === 1 ? 'waits' : 'wait'} again, because it refuses every lead.`,
  }),

  'sink-held': eventKind<{ sink: string; reason: string; probeAt: Date | undefined }>({
    level: 'warn',
    stateOf: ofSink,
    fields: ['sink', 'reason', 'probeAt'],
    message: ({ sink, reason, probeAt }) =>
      `Sink ${sink} is held, its leads wait. ${reason}${probeAt === undefined ? '' : ` Next probe at ${probeAt.toISOString()}.`}`,
  }),

  'sink-recovered': eventKind<{ sink: string; heldMs: number }>({
    level: 'info',
    throttled: true,
    stateOf: ofSink,
    fields: ['sink', 'heldMs'],
    message: ({ sink, heldMs }) => `Sink ${sink} works again after ${printSeconds(heldMs)}.`,
  }),

  'sink-paused': eventKind<{ sink: string; reason: string }>({
    level: 'warn',
    stateOf: ofSink,
    fields: ['sink', 'reason'],
    message: ({ sink, reason }) =>
      `Sink ${sink} is paused, its leads wait. Why: ${sentence(reason)} To go on: \`leadsync resume ${sink}\`.`,
  }),

  'sink-resumed': eventKind<{ sink: string }>({
    level: 'info',
    throttled: true,
    stateOf: ofSink,
    fields: ['sink'],
    message: ({ sink }) => `Sink ${sink} is resumed.`,
  }),

  'check-failed': eventKind<{ sink: string; reason: string; hint: string }>({
    level: 'warn',
    fields: ['sink', 'reason', 'hint'],
    message: ({ sink, reason, hint }) => `Sink ${sink} does not look right. ${reason} ${hint}`,
  }),

  /** Deliveries go on. Only the tables beside the leads are not brought to the sink. */
  'mirror-failed': eventKind<{ sink: string; reason: string; hint: string }>({
    level: 'warn',
    fields: ['sink', 'reason', 'hint'],
    message: ({ sink, reason, hint }) =>
      `What the ledger knows beside the leads was not brought to sink ${sink}; leads are delivered. ${reason} ${hint}`,
  }),
};

function whatFailed({ lead, source, ofErased }: FailedDelivery): string {
  return ofErased ? `the word that lead ${lead} of ${source} is erased` : `lead ${lead} of ${source}`;
}

function whereAnswered({ lead, ofErased }: FailedDelivery): string {
  return ofErased
    ? 'What it answered is not kept, for it may name the person: ask whoever runs it.'
    : `What it answered: \`leadsync trace ${lead} --show-data\`.`;
}

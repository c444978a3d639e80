import type { StatusClass } from '../../leads/outcome.ts';
import { printSeconds, printSpan, sentence } from '../../platform/text/human-readable.ts';
import { eventKind } from '../event-kind.ts';
import { count } from './wording.ts';

/** A refused or dead delivery. */
export interface FailedDelivery {
  readonly sink: string;
  readonly source: string;
  readonly lead: string;
  readonly delivery: string;
  /** Whether the delivery reports an erasure. The sink's answer to such a delivery is not stored. */
  readonly ofErased: boolean;
  readonly reason: string;
}

const ofSink = ({ sink }: { sink: string }): string => `sink ${sink}`;

/** Events about sinks, their batches, and the deliveries that failed. */
export const sinkEvents = {
  backfill: eventKind<{ sink: string; owed: number; skipped: number; done: boolean }>({
    level: 'info',
    fields: ['sink', 'owed', 'skipped', 'done'],
    message: ({ sink, owed, skipped, done }) =>
      `Sink ${sink}: the backfill has recorded ${count(owed, 'earlier lead')} as owed and ${skipped} as skipped${done ? '.' : ' so far.'}`,
  }),

  /**
   * `reason` is the reason of the first failed delivery. `secondsToDelivery` has, for each delivered new lead, the seconds from its first listing to
   * the delivery. It excludes other leads: see `Delivery.isNewLead`. `dead` counts the refused and the unavailable deliveries that were given up.
   */
  'batch-settled': eventKind<{
    sink: string;
    batch: string;
    delivered: number;
    refused: number;
    unavailable: number;
    /** Leads that the sink's mapping left out. */
    leftOut: number;
    dead: { readonly refused: number; readonly unavailable: number };
    /** Numbers of attempted leads by class of the HTTP status that answered them. */
    answers: Readonly<Record<StatusClass, number>>;
    durationMs: number;
    reason?: string | undefined;
    secondsToDelivery: readonly number[];
  }>({
    level: ({ refused, unavailable }) => (unavailable > 0 ? 'warn' : refused > 0 ? 'info' : 'debug'),
    fields: ['sink', 'batch', 'delivered', 'refused', 'unavailable', 'leftOut', 'durationMs', 'reason'],
    message: ({ sink, delivered, refused, unavailable, leftOut, durationMs, reason }) =>
      `Sink ${sink}: ${delivered} delivered, ${refused} refused, ${unavailable} unavailable${leftOut > 0 ? `, ${leftOut} left out` : ''}, in ${printSeconds(durationMs)}.${reason === undefined ? '' : ` ${reason}`}`,
  }),

  /**
   * The lease of a batch expired before the attempt began, or before leadsync recorded its result. In the first case, which is normal when
   * the carrier offers a batch twice, leadsync attempts nothing.
   */
  'batch-stale': eventKind<{ sink: string; batch: string }>({
    level: 'debug',
    fields: ['sink', 'batch'],
    message: ({ sink, batch }) =>
      `Sink ${sink}: the lease of batch ${batch} has expired, so leadsync records nothing for it; it attempts the batch again under a new lease.`,
  }),

  /**
   * The expressions that the configuration has for a sink took so long for one lead that other work in the process had to wait. `field` is the option
   * with the slowest of them, such as `fields.email`. Standard fields of the sink type do not count.
   */
  'mapping-slow': eventKind<{
    sink: string;
    source: string;
    lead: string;
    field: string;
    durationMs: number;
  }>({
    level: 'warn',
    fields: ['sink', 'source', 'lead', 'field', 'durationMs'],
    message: ({ sink, source, lead, field, durationMs }) =>
      `Sink ${sink}: its mapping took ${printSeconds(durationMs)} for lead ${source}:${lead}, and other deliveries waited. The slowest expression is that of \`${field}\`. Simplify its loops, or use \`max\` and \`answer("…")\` in place of lists.`,
  }),

  /** Level `debug`, because `delivery-dead` reports the end of the delivery at a higher level. */
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
      `Sink ${event.sink}: gave up ${whatFailed(event)} after ${count(event.attempts, 'attempt')}. ${event.reason} ${whereAnswered(event)} Once the cause is fixed: \`leadsync retry ${event.delivery}\`.`,
  }),

  'deliveries-revived': eventKind<{ sink: string; revived: number }>({
    level: 'info',
    fields: ['sink', 'revived'],
    message: ({ sink, revived }) =>
      `Sink ${sink}: ${count(revived, 'dead delivery', 'dead deliveries')} ${revived === 1 ? 'is' : 'are'} pending again, because the sink refuses every lead.`,
  }),

  'sink-held': eventKind<{ sink: string; reason: string; probeAt: Date | undefined }>({
    level: 'warn',
    stateOf: ofSink,
    fields: ['sink', 'reason', 'probeAt'],
    message: ({ sink, reason, probeAt }) =>
      `Sink ${sink} is held; its leads wait. ${reason}${probeAt === undefined ? '' : ` Next probe at ${probeAt.toISOString()}.`}`,
  }),

  'sink-recovered': eventKind<{ sink: string; heldMs: number }>({
    level: 'info',
    throttled: true,
    stateOf: ofSink,
    fields: ['sink', 'heldMs'],
    message: ({ sink, heldMs }) => `Sink ${sink} works again after ${printSpan(heldMs)}.`,
  }),

  'sink-paused': eventKind<{ sink: string; reason: string }>({
    level: 'warn',
    stateOf: ofSink,
    fields: ['sink', 'reason'],
    message: ({ sink, reason }) =>
      `Sink ${sink} is paused; its leads wait. Reason: ${sentence(reason)} To resume it: \`leadsync resume ${sink}\`.`,
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
    message: ({ sink, reason, hint }) => `The check of sink ${sink} failed. ${reason} ${hint}`,
  }),

  /** The tables of the mirror could not be written. Deliveries do not depend on them. */
  'mirror-failed': eventKind<{ sink: string; reason: string; hint: string }>({
    level: 'warn',
    fields: ['sink', 'reason', 'hint'],
    message: ({ sink, reason, hint }) =>
      `The mirror tables of sink ${sink} could not be written. ${reason} ${hint}`,
  }),
};

function whatFailed({ lead, source, ofErased }: FailedDelivery): string {
  return ofErased ? `the erasure of lead ${lead} of ${source}` : `lead ${lead} of ${source}`;
}

function whereAnswered({ lead, ofErased }: FailedDelivery): string {
  return ofErased
    ? 'Its answer is not stored, because it can name the person; ask the operator of the destination.'
    : `Its answer: \`leadsync trace ${lead} --show-data\`.`;
}

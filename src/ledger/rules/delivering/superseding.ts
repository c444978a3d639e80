import type { DeliveryState, LeadEvent } from '../../../leads/delivery.ts';
import type { LeadId } from '../../../leads/lead.ts';
import { LEFT_OUT } from '../../../leads/outcome.ts';

/** The reason recorded for a delivery that a newer one of the same lead replaced. */
export const REPLACED = 'a newer delivery of the same lead replaced it';
/** The reason recorded for a delivery of a replay, if an operator cancelled the replay. */
export const CANCELLED = 'an operator cancelled the replay';
/** The reason recorded for a delivery that a backfill skipped, because retention or damage had removed the lead's content. */
const NOT_STORED =
  'the content of this lead was no longer stored when this sink was added; its next content goes out';
/** The reason recorded for a pending delivery of a sink that was forgotten. */
export const FORGOTTEN = 'its sink was removed from the configuration and forgotten';
/** The reason recorded for a lead that was listed before a sink without backfill was configured. */
export const LISTED_BEFORE =
  'listed before leadsync delivered leads of this source to this sink; backfill is off';

/**
 * The reason recorded for a dead delivery whose lead lost its text to damage. If the source lists the lead with the same content, the
 * delivery becomes pending again. Recovered ledgers contain this text, so changing it would leave their deliveries dead.
 */
export const LOST_TEXT =
  'the text of this lead was lost when the ledger was damaged; it goes out when the source lists the lead again';

/** The states and reasons of deliveries that wait for the lost text of their lead. */
export const WITHOUT_TEXT = [
  ['dead', LOST_TEXT],
  ['skipped', NOT_STORED],
] as const;

/** The current version of a lead. */
export interface NewestVersion {
  readonly versionNo: number;
  readonly source: string;
  readonly id: LeadId;
}

/** The last delivery of a lead to a sink. */
export interface LastDelivery {
  delivery_no: number;
  version_no: number;
  state: DeliveryState;
  event: LeadEvent;
  replay: number;
  was_left_out: 0 | 1;
  reason: string | null;
  discarded: number;
}

/** A pending delivery that can be replaced, that is, no attempt of it is in progress. */
export interface Replaceable {
  delivery_no: number;
  replay: number;
  was_left_out: 0 | 1;
  event: LeadEvent;
  batch_no: number | null;
  /** Whether no attempt of the delivery ever began, so that no destination knows its id and content. */
  untouched: 0 | 1;
}

/** How a version is recorded as owed. */
export interface OwedAs {
  readonly event: LeadEvent;
  readonly replay: number;
  readonly was_left_out?: 0 | 1;
}

/** What the ledger knows about a sink's deliveries of a lead. Functions are called only if the plan depends on them. */
interface NewestFacts {
  readonly last: LastDelivery | undefined;
  /** Returns the pending deliveries of older versions that can be replaced, oldest first. */
  readonly older: () => readonly Replaceable[];
  /** Whether any version was delivered or may have arrived. */
  readonly maybeArrived: () => boolean;
  readonly wasDelivered: () => boolean;
}

/** What happens to the deliveries of a lead whose newest version is to be owed. */
interface NewestPlan {
  /** The deliveries that move on to the newest version. */
  readonly moving: readonly Replaceable[];
  /** The deliveries that are skipped, because a newer one replaces them. */
  readonly replaced: readonly Replaceable[];
  /** How the newest version is owed behind every earlier delivery; undefined if it is not. */
  readonly owe: OwedAs | undefined;
}

/** Returns the plan of `oweNewest` for a sink that subscribes to these events. docs/decisions/0012 gives the reasons. */
export function planNewest(events: readonly LeadEvent[], versionNo: number, facts: NewestFacts): NewestPlan {
  const { last } = facts;
  const isOwed = last?.version_no === versionNo;
  if (isOwed && last.state !== 'pending') return { moving: [], replaced: [], owe: undefined };
  const older = facts.older();
  const moving = isOwed ? [] : lastOfEachReplay(older.filter(({ untouched }) => untouched === 1));
  const replaced = older.filter((one) => !moving.includes(one));
  const owe = isOwed || moving.length > 0 ? undefined : newestAs(events, facts, replaced.at(-1));
  return { moving, replaced, owe };
}

function newestAs(
  events: readonly LeadEvent[],
  { last, maybeArrived, wasDelivered }: NewestFacts,
  replaced: Replaceable | undefined,
): OwedAs | undefined {
  const isMissed = last !== undefined && isNewTo(last, maybeArrived);
  if (isMissed && events.includes('created')) return { event: 'created', replay: 0 };
  if (events.includes('updated')) return { event: 'updated', replay: 0 };
  // The same applies as after a delivery that was given up: the sink may have an older version, but no delivery shows that it does.
  if (last && isLeftOut(last) && !wasDelivered()) return { event: 'created', replay: 0 };
  // Keeps the event of the delivery that failed, because a sink that already received the lead must not get another `created`.
  return replaced ?? (last && isGivenUp(last) ? last : undefined);
}

/**
 * Whether a sink cannot have any version of a lead. That is so if it has no delivery of the lead, if the last delivery was skipped because
 * the content was not stored, or if the sink's mapping left the lead out and no other version was delivered or may have arrived.
 */
function isNewTo(last: LastDelivery | undefined, maybeArrived: () => boolean): boolean {
  if (last === undefined || last.reason === NOT_STORED) return true;
  return isLeftOut(last) && !maybeArrived();
}

/**
 * Returns the event that `oweNewest` would choose for a change of a lead that the sink's mapping left out. Returns undefined if the last
 * delivery was not left out, if the sink may have this version, or if it may have an older version and does not subscribe to updates.
 */
export function leftOutEvent(
  events: readonly LeadEvent[],
  versionNo: number,
  last: LastDelivery | undefined,
  lastArrived: () => number | undefined,
): LeadEvent | undefined {
  if (last?.version_no !== versionNo || last.state !== 'skipped' || !isLeftOut(last)) return undefined;
  const asks = events.includes('updated');
  const arrived = lastArrived();
  if (arrived !== undefined && (!asks || arrived === versionNo)) return undefined;
  return arrived === undefined && (events.includes('created') || !asks) ? 'created' : 'updated';
}

/**
 * What a backfill does with a lead. `newest`: owes the newest version in place of older ones. `owe`: owes it as a delivery of `event`. `skip`:
 * records a skipped delivery of `event`, with the reason.
 */
export type BackfillPlan =
  | { readonly kind: 'newest' }
  | { readonly kind: 'owe'; readonly event: LeadEvent }
  | { readonly kind: 'skip'; readonly event: LeadEvent; readonly reason: string };

/** Returns the plan of a sink's backfill for a lead; undefined if it does nothing. */
export function planBackfill(
  { events, backfill }: { readonly events: readonly LeadEvent[]; readonly backfill: boolean },
  last: LastDelivery | undefined,
  maybeArrived: () => boolean,
  hasContent: boolean,
): BackfillPlan | undefined {
  const event = isNewTo(last, maybeArrived) ? 'created' : 'updated';
  // A lead that was pending, dead or left out when the sink was removed is owed, whatever its `events` and `backfill` options are.
  if (last && (last.state === 'pending' || isGivenUp(last) || isLeftOut(last)))
    return hasContent ? { kind: 'newest' } : undefined;
  if (!events.includes(event) || (!hasContent && event === 'updated')) return undefined;
  if (backfill && hasContent) return { kind: 'owe', event };
  return { kind: 'skip', event, reason: backfill ? NOT_STORED : LISTED_BEFORE };
}

/** Whether a delivery is dead, or was dead until an operator discarded it. In both cases the sink gets the lead's next version. */
function isGivenUp({ state, discarded }: Pick<LastDelivery, 'state' | 'discarded'>): boolean {
  return state === 'dead' || (state === 'skipped' && discarded === 1);
}

/** Whether a delivery was skipped because the sink's mapping left the lead out. */
export function isLeftOut({ reason }: Pick<LastDelivery, 'reason'>): boolean {
  return reason?.startsWith(LEFT_OUT) === true;
}

/** Returns the last delivery of each replay. If two deliveries of a replay moved to the same version, they would have the same id. */
function lastOfEachReplay(untouched: readonly Replaceable[]): Replaceable[] {
  return [...new Map(untouched.map((one) => [one.replay, one])).values()];
}

import type { EventKind } from './event-kind.ts';
import { adminEvents } from './events/admin-events.ts';
import { alertEvents } from './events/alert-events.ts';
import { carrierEvents } from './events/carrier-events.ts';
import { ledgerEvents } from './events/ledger-events.ts';
import { processEvents } from './events/process-events.ts';
import { sinkEvents } from './events/sink-events.ts';
import { sourceEvents } from './events/source-events.ts';

/**
 * Every event that leadsync reports, by type. The log and tests use this table. No event contains a secret, or text from a lead: an event names a
 * lead by its source and id.
 */
export const EVENTS = {
  ...processEvents,
  ...sourceEvents,
  ...sinkEvents,
  ...carrierEvents,
  ...ledgerEvents,
  ...alertEvents,
  ...adminEvents,
};

/** Type of an event; the field `event` of a log line. */
export type EventType = keyof typeof EVENTS;

type FieldsOf<Kind> = Kind extends EventKind<infer Fields> ? Fields : never;

/** One event, discriminated by `type`. */
export type Event = {
  [Type in EventType]: { type: Type } & FieldsOf<(typeof EVENTS)[Type]>;
}[EventType];

/** Event of one type. */
export type EventOf<Type extends EventType> = Extract<Event, { type: Type }>;

/** Reports an event. Never throws and never waits. */
export type Emit = (event: Event) => void;

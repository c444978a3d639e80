import type { EventKind } from './event-kind.ts';
import { alertEvents } from './events/alert-events.ts';
import { carrierEvents } from './events/carrier-events.ts';
import { ledgerEvents } from './events/ledger-events.ts';
import { processEvents } from './events/process-events.ts';
import { sinkEvents } from './events/sink-events.ts';
import { sourceEvents } from './events/source-events.ts';

/**
 * Every event that leadsync reports while it runs, by its type: log and tests are drawn from this table.
 * No event holds a secret or any of a lead's text; a lead is named by source and id.
 */
export const EVENTS = {
  ...processEvents,
  ...sourceEvents,
  ...sinkEvents,
  ...carrierEvents,
  ...ledgerEvents,
  ...alertEvents,
};

/** The name of an event; a line of the log has it as `event`. */
export type EventType = keyof typeof EVENTS;

type FieldsOf<Kind> = Kind extends EventKind<infer Fields> ? Fields : never;

/** One event, told apart by `type`. */
export type Event = {
  [Type in EventType]: { type: Type } & FieldsOf<(typeof EVENTS)[Type]>;
}[EventType];

/** The event of one type. */
export type EventOf<Type extends EventType> = Extract<Event, { type: Type }>;

/** Takes an event; never throws and never waits. */
export type Emit = (event: Event) => void;

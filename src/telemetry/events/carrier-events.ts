import { printSeconds } from '../../platform/text/format.ts';
import { eventKind } from '../event-kind.ts';
import { count } from './wording.ts';

const carrier = (): string => 'carrier';

/** The queue that carries batches to where they are attempted. */
export const carrierEvents = {
  'carrier-unavailable': eventKind<{ reason: string; hint: string }>({
    level: 'error',
    stateOf: carrier,
    fields: ['reason', 'hint'],
    message: ({ reason, hint }) => `The queue cannot be used; leads are recorded and wait. ${reason} ${hint}`,
  }),

  'carrier-recovered': eventKind<{ downMs: number }>({
    level: 'info',
    throttled: true,
    stateOf: carrier,
    fields: ['downMs'],
    message: ({ downMs }) => `The queue is back after ${printSeconds(downMs)}.`,
  }),

  'carrier-warning': eventKind<{ reason: string; hint: string }>({
    level: 'warn',
    fields: ['reason', 'hint'],
    message: ({ reason, hint }) => `The queue: ${reason} ${hint}`,
  }),

  /** The worker of a sink's queue took no batch although it could, and was replaced. */
  'carrier-replaced': eventKind<{ sink: string; waiting: number; silentMs: number }>({
    level: 'warn',
    fields: ['sink', 'waiting', 'silentMs'],
    message: ({ sink, waiting, silentMs }) =>
      `Sink ${sink}: its queue's worker began nothing for ${printSeconds(silentMs)} while ${count(waiting, 'batch', 'batches')} waited for it; a new one has taken its place. If this comes again, see whether something between here and Redis drops connections.`,
  }),
};

import { printSpan } from '../../platform/text/human-readable.ts';
import { eventKind } from '../event-kind.ts';
import { count } from './wording.ts';

const carrier = (): string => 'carrier';

/** Events about the queue that carries batches to the processes that attempt them. */
export const carrierEvents = {
  'carrier-unavailable': eventKind<{ reason: string; hint: string }>({
    level: 'error',
    stateOf: carrier,
    fields: ['reason', 'hint'],
    message: ({ reason, hint }) =>
      `The queue does not work; leadsync records leads but cannot deliver them. ${reason} ${hint}`,
  }),

  'carrier-recovered': eventKind<{ downMs: number }>({
    level: 'info',
    throttled: true,
    stateOf: carrier,
    fields: ['downMs'],
    message: ({ downMs }) => `The queue works again after ${printSpan(downMs)}.`,
  }),

  'carrier-warning': eventKind<{ reason: string; hint: string }>({
    level: 'warn',
    fields: ['reason', 'hint'],
    message: ({ reason, hint }) => `The queue: ${reason} ${hint}`,
  }),

  /** leadsync replaced the worker of a sink's queue, because the worker took no batch although batches waited. */
  'carrier-replaced': eventKind<{ sink: string; waiting: number; silentMs: number }>({
    level: 'warn',
    fields: ['sink', 'waiting', 'silentMs'],
    message: ({ sink, waiting, silentMs }) =>
      `Sink ${sink}: the worker of its queue started nothing for ${printSpan(silentMs)} while ${count(waiting, 'batch', 'batches')} waited, so leadsync replaced it. If this happens again, check whether something between leadsync and Redis drops connections.`,
  }),
};

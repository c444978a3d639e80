import { printSeconds } from '../../platform/text/format.ts';
import { eventKind } from '../event-kind.ts';
import { count } from './wording.ts';

/** Alerts, and whether those whom they go to were reached. */
export const alertEvents = {
  /** Something is wrong or, once a day (`lasts`), still is. `about`: the source or sink; empty where there is only one. */
  alert: eventKind<{ condition: string; about: string; reason: string; hint: string; lasts: boolean }>({
    level: 'warn',
    fields: ['condition', 'about', 'reason', 'hint', 'lasts'],
    message: ({ condition, lasts, reason, hint }) =>
      `Alert ${condition}${lasts ? ', still' : ''}. ${reason} ${hint}`,
  }),

  'alert-over': eventKind<{ condition: string; about: string; reason: string; lastedMs: number }>({
    level: 'info',
    fields: ['condition', 'about', 'reason', 'lastedMs'],
    message: ({ condition, lastedMs, reason }) =>
      `Alert ${condition} is over after ${printSeconds(lastedMs)}. ${reason}`,
  }),

  'alert-sent': eventKind<{ to: string; notices: number }>({
    level: 'info',
    fields: ['to', 'notices'],
    message: ({ to, notices }) => `${to} was told: ${count(notices, 'notice')}.`,
  }),

  /** It is tried again, with growing pauses. */
  'alert-unsent': eventKind<{ to: string; reason: string; hint: string; retryInMs: number }>({
    level: 'warn',
    fields: ['to', 'reason', 'hint', 'retryInMs'],
    message: ({ to, reason, hint, retryInMs }) =>
      `${to} could not be told what is wrong. ${reason} ${hint} Next try in ${printSeconds(retryInMs)}; deliveries go on.`,
  }),

  /** Until the file can be written, a restart forgets who was told what. */
  'alerts-unkept': eventKind<{ reason: string }>({
    level: 'warn',
    fields: ['reason'],
    message: ({ reason }) =>
      `alerts.json in the data directory cannot be written (${reason}): after a restart, notices may come twice.`,
  }),
};

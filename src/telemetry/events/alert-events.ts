import { printSpan } from '../../platform/text/human-readable.ts';
import { eventKind } from '../event-kind.ts';
import { count } from './wording.ts';

/** Events about alerts, and about whether they reached their destinations. */
export const alertEvents = {
  /**
   * A condition has begun to hold, or still holds (`lasts`), which is reported once a day, or earlier if its count has grown a lot. `about`
   * names the source, sink or export, or is empty.
   */
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
      `Alert ${condition} is over after ${printSpan(lastedMs)}. ${reason}`,
  }),

  'alert-sent': eventKind<{ to: string; notices: number }>({
    level: 'info',
    fields: ['to', 'notices'],
    message: ({ to, notices }) => `Alerts sent to ${to}: ${count(notices, 'notice')}.`,
  }),

  /** leadsync retries with exponential backoff. */
  'alert-unsent': eventKind<{ to: string; reason: string; hint: string; retryInMs: number }>({
    level: 'warn',
    fields: ['to', 'reason', 'hint', 'retryInMs'],
    message: ({ to, reason, hint, retryInMs }) =>
      `Alerts could not be sent to ${to}. ${reason} ${hint} Next attempt in ${printSpan(retryInMs)}; deliveries continue.`,
  }),

  /** Reported once, until a heartbeat arrives again. */
  'heartbeat-failed': eventKind<{ reason: string; hint: string }>({
    level: 'warn',
    fields: ['reason', 'hint'],
    message: ({ reason, hint }) =>
      `The heartbeat could not be sent. ${reason} ${hint} leadsync continues, and reports when a heartbeat arrives again.`,
  }),

  'heartbeat-recovered': eventKind<object>({
    level: 'info',
    fields: [],
    message: () => 'Heartbeats arrive again.',
  }),

  /** The file with the state of the alerts cannot be written. Until it can, a restart loses that state. */
  'alerts-unkept': eventKind<{ reason: string }>({
    level: 'warn',
    fields: ['reason'],
    message: ({ reason }) =>
      `The state of the alerts cannot be stored (${reason}): after a restart, notices may be sent twice.`,
  }),
};

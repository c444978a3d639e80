import { z } from 'zod';
import { count, time } from './values.ts';

/** A condition that holds now or held recently. */
const Alert = z.object({
  /** Name of the condition, as in `alerts.when`. */
  condition: z.string(),
  severity: z.enum(['critical', 'warning']),
  /** Source, sink, export or backup; null for a condition of leadsync itself. */
  about: z.string().nullable(),
  message: z.string(),
  /**
   * `new`: no notice yet, because the condition has not lasted long enough. `active`: reported. `ending`: reported, and absent now. `over`: absent
   * for so long that leadsync has reported the end.
   */
  state: z.enum(['new', 'active', 'ending', 'over']),
  since: time,
  /** Time of the last notice that the condition holds. Each notice goes to every destination. */
  reported_at: time.nullable(),
  /** Time of the notice that the condition is over. */
  over_at: time.nullable(),
  /** What the next notice says if the state does not change: the first one, a reminder, or the end. */
  next_notice: z.enum(['first', 'reminder', 'over']).nullable(),
  /** When the next notice is due. Null for the first one, which is due once the condition has lasted as long as `alerts.when` says. */
  next_notice_at: time.nullable(),
  /** Names of the destinations that have not got a notice about this condition yet. */
  unsent_to: z.array(z.string()),
  runbook: z.string(),
});

/** The alerts, and where they go. Without a destination, leadsync evaluates no condition, so there are no alerts. */
export const Alerts = z.object({
  destinations: z.array(
    z.object({
      name: z.string(),
      type: z.string(),
      /** Number of notices that wait to be sent. */
      unsent: count,
      /** Time of the oldest notice that waits. */
      unsent_since: time.nullable(),
    }),
  ),
  alerts: z.array(Alert),
});

export type Alerts = z.infer<typeof Alerts>;

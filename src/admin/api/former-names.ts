import { z } from 'zod';
import { Overview } from '../contract/overview.ts';

/** Answer of `/overview`, which repeats `healthy` and `problems` under their former names. */
export const OverviewAnswer = Overview.extend({
  well: z.boolean().meta({ deprecated: true, description: 'Use `healthy`.' }),
  troubles: z
    .array(
      z.object({
        severity: z.enum(['warning', 'critical']),
        about: z.string().nullable(),
        what: z.string(),
        next: z.string(),
      }),
    )
    .meta({ deprecated: true, description: 'Use `problems`.' }),
});

/** Adds the fields that clients of earlier versions read. */
export function withFormerNames(overview: z.output<typeof Overview>): z.output<typeof OverviewAnswer> {
  const { healthy, problems } = overview;
  const troubles = problems.map(({ severity, about, message, next_step }) => ({
    severity,
    about,
    what: message,
    next: next_step,
  }));
  return { ...overview, well: healthy, troubles };
}

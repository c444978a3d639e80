import { z } from 'zod';
import type { LeadEvent } from '../../leads/delivery.ts';
import { printDuration } from '../../platform/text/format.ts';
import type { SinkType } from '../../sinks/sink.ts';
import { durationBetween, nameOption } from './option-limits.ts';

/** From the first failed attempt to the last; after it a delivery is dead. About three days in all. */
const DEFAULT_RETRY_SCHEDULE = ['5s', '5m', '30m', '2h', '5h', '10h', '14h', '20h', '24h'];

const batch = { max: z.int().min(1).max(10_000), wait: durationBetween('0s', '1d') };

const retry = z
  .strictObject({
    schedule: z
      .array(durationBetween('0s', '30d'))
      .max(100)
      .prefault(DEFAULT_RETRY_SCHEDULE)
      .describe(
        'The waits after the first, second, … failed attempt. After the last one the delivery is dead. An empty list: one attempt.',
      ),
    jitter: z
      .number()
      .min(0)
      .max(1)
      .default(0.2)
      .describe('How much each wait varies at random, as a part of it: 0.2 is 20 % more or less.'),
  })
  .prefault({})
  .describe(
    'What happens to a lead that failed while others got through. While a sink is unavailable no attempts are used up.',
  );

/** What happens to a delivery that failed where no configuration says it: its sink was taken out while the attempt was under way. */
export const DEFAULT_RETRY = policyOf(retry.parse(undefined));

/** The options of `retry` as a policy. */
export function policyOf({ schedule, jitter }: z.output<typeof retry>) {
  return { scheduleMs: schedule, jitter };
}

/** The options that every type of sink has, with the type's own defaults. */
export function sinkOptions({ defaults }: Pick<SinkType, 'defaults'>) {
  return z.strictObject({
    enabled: z
      .boolean()
      .default(true)
      .describe(
        '`false`: nothing is delivered. When it is enabled again, `backfill` decides about the leads of the meantime.',
      ),
    formerly: nameOption
      .optional()
      .describe(
        'The name that this sink had before: what it was owed and has got under that name goes on under this one. May stay here.',
      ),
    events: z
      .array(z.enum(eventsOf(defaults)))
      .min(1)
      .refine((events) => new Set(events).size === events.length, 'names the same event twice')
      .default([...defaults.events])
      .describe(
        `What is delivered: leads when they are first seen (\`created\`), and when they change (\`updated\`).${defaults.events.includes('erased') ? ' With `erased`, the word that a lead which was delivered is to be erased.' : ''}`,
      ),
    backfill: z
      .boolean()
      .default(true)
      .describe(
        'Leads that were already listed when this sink was added: `true` delivers them to it as well, `false` records them as skipped.',
      ),
    batch: z
      .strictObject({
        max: batch.max.default(defaults.batchMax).describe('The most leads that are attempted together.'),
        wait: batch.wait
          .prefault(printDuration(defaults.batchWaitMs))
          .describe('How long the oldest lead waits for its batch to fill.'),
      })
      .prefault({})
      .describe('How leads are put together.'),
    concurrency: z
      .int()
      .min(1)
      .max(1000)
      .default(defaults.concurrency)
      .describe('The most batches that are attempted at the same time.'),
    timeout: durationBetween('100ms', '1h')
      .prefault(printDuration(defaults.timeoutMs))
      .describe("The deadline of one attempt, the destination's whole answer included."),
    retry,
  });
}

/** Stands for a type that is not known, or makes no difference: which options there are does not hang on the defaults. */
export const ANY_TYPE: Pick<SinkType, 'defaults'> = {
  defaults: { events: ['created'], batchMax: 1, batchWaitMs: 0, concurrency: 1, timeoutMs: 1000 },
};

/** What a type of sink can be asked to bring: only some can be told of erased leads, and those are by default. */
function eventsOf({ events }: SinkType['defaults']): readonly LeadEvent[] {
  return events.includes('erased') ? ['created', 'updated', 'erased'] : ['created', 'updated'];
}

/** The common options of a sink after validation. */
export type SinkOptions = z.output<ReturnType<typeof sinkOptions>>;

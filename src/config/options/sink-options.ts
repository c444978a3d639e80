import { z } from 'zod';
import { type BreakerPolicy, DEFAULT_BREAKER, JUDGED_BATCHES } from '../../leads/breaker-policy.ts';
import type { LeadEvent } from '../../leads/delivery.ts';
import type { FieldRule } from '../../mapping/mapping-definition.ts';
import { mappingOptions, perLeadOption } from '../../mapping/options.ts';
import { builtOnce } from '../../platform/options/built-once.ts';
import { duration } from '../../platform/options/option-types.ts';
import { printDuration } from '../../platform/text/human-readable.ts';
import type { SinkType } from '../../sinks/sink-type.ts';
import { durationBetween, nameOption } from './option-limits.ts';

/** The random variation of each wait, as a fraction of it. */
const DEFAULT_JITTER = 0.2;

/** The waits after failed attempts, about three days in all. If the attempt after the last wait fails as well, the delivery is dead. */
const DEFAULT_SCHEDULE = ['5s', '5m', '30m', '2h', '5h', '10h', '14h', '20h', '24h'];

const retry = builtOnce(() =>
  z
    .strictObject({
      schedule: z
        .array(durationBetween('0s', '30d'))
        .max(100)
        .prefault(DEFAULT_SCHEDULE)
        .describe(
          'The waits after the first, second, … failed attempt. When the attempt after the last wait fails, the delivery is dead. An empty list: one attempt.',
        ),
      jitter: z
        .number()
        .min(0)
        .max(1)
        .default(DEFAULT_JITTER)
        .describe('Random variation of each wait, as a fraction of it: 0.2 is up to 20% more or less.'),
    })
    .prefault({})
    .describe(
      'How to retry a lead that failed while others were delivered. Attempts at an unavailable destination do not count.',
    ),
);

const breaker = builtOnce(() =>
  z
    .strictObject({
      failure_rate: z
        .number()
        .min(0.1)
        .max(1)
        .default(DEFAULT_BREAKER.failureRate)
        .describe(
          `Hold the sink when this share of its last ${JUDGED_BATCHES} batches has failed: 0.9 is ${JUDGED_BATCHES * 0.9} of them.`,
        ),
      consecutive_failures: z
        .int()
        .min(1)
        .max(100)
        .default(DEFAULT_BREAKER.consecutiveFailures)
        .describe(
          'Also hold the sink after this many failed batches in a row, if it delivered no lead in the last 5 seconds. This is for sinks that get few leads.',
        ),
      max_probe_wait: durationBetween('1s', '1h')
        .prefault(printDuration(DEFAULT_BREAKER.maxProbeWaitMs))
        .describe(
          'Maximum wait between two probes of a held sink, unless the destination asks for more (`Retry-After`). leadsync varies each wait by up to 20%. The first probes come after 5 seconds.',
        ),
    })
    .prefault({})
    .describe(
      'When leadsync holds the sink because its destination does not work, and how often it then tries again (a circuit breaker).',
    ),
);

const MAX_RATE = 10_000;
const WRONG_RATE = `must be a rate such as 5/s, 100/m or 1000/h, from 1 to ${MAX_RATE}`;
const MS = { s: 1_000, m: 60_000, h: 3_600_000 } as const;

/** Returns the schema of a rate such as `5/s`: a number of batches per second, minute or hour. */
function rate() {
  return z
    .string({ error: WRONG_RATE })
    .regex(/^[1-9]\d{0,4}\/[smh]$/, WRONG_RATE)
    .transform((text) => ({
      batches: Number.parseInt(text, 10),
      perMs: MS[text.slice(-1) as keyof typeof MS],
    }))
    .refine(({ batches }) => batches <= MAX_RATE, WRONG_RATE)
    .describe(
      'The maximum number of batches that begin within any second (`5/s`), minute (`100/m`) or hour (`1000/h`), for destinations that limit requests. Further requests for the same batch do not count: those for the halves of a refused batch, and those to further channels of a digest. Counting starts again each time leadsync starts. With Redis, batches that waited for an absent worker, at most `concurrency`, all begin immediately. Absent: no maximum.',
    );
}

/** Returns the option `rate`, with the sink type's default if there is one. Its TypeScript type is the same for every sink type. */
function rateOption(standard: string | undefined) {
  const option = rate().optional();
  return standard === undefined ? option : (option.prefault(standard) as unknown as typeof option);
}

/** The retry policy for a failed delivery whose sink was removed from the configuration during the attempt. */
export const DEFAULT_RETRY = {
  scheduleMs: DEFAULT_SCHEDULE.map((wait) => duration().parse(wait)),
  jitter: DEFAULT_JITTER,
};

/** Converts the options of `retry` to a policy. */
export function policyOf({ schedule, jitter }: z.output<ReturnType<typeof retry>>) {
  return { scheduleMs: schedule, jitter };
}

/** Converts the options of `breaker` to a policy. */
export function breakerOf(options: z.output<ReturnType<typeof breaker>>): BreakerPolicy {
  const { failure_rate, consecutive_failures, max_probe_wait } = options;
  return {
    failureRate: failure_rate,
    consecutiveFailures: consecutive_failures,
    maxProbeWaitMs: max_probe_wait,
  };
}

/** Returns the schema of the options that every sink type has, with the type's defaults. */
export function sinkOptions({ defaults, perLead = {} }: OptionParts) {
  return z.strictObject({
    ...perLeadOptions(perLead),
    enabled: z
      .boolean()
      .default(true)
      .describe(
        '`false`: nothing is delivered. When the sink is enabled again, `backfill` decides about the leads listed in the meantime.',
      ),
    formerly: nameOption
      .optional()
      .describe(
        'The former name of this sink. The sink takes over all deliveries recorded under that name, pending and past. You can leave the option in place afterwards.',
      ),
    events: z
      .array(z.enum(eventsOf(defaults)))
      .min(1)
      .refine((events) => new Set(events).size === events.length, 'names the same event twice')
      .default([...defaults.events])
      .describe(
        `What is delivered: leads when they are first seen (\`created\`), and when they change (\`updated\`).${defaults.events.includes('erased') ? ' With `erased`, a request to erase a lead that was delivered.' : ''}`,
      ),
    backfill: z
      .boolean()
      .default(true)
      .describe(
        'What to do with leads that were listed before this sink was added: `true` delivers them as well, `false` records them as skipped.',
      ),
    batch: z
      .strictObject({
        max: z.int().min(1).max(10_000).default(defaults.batchMax).describe('Maximum leads per batch.'),
        wait: durationBetween('0s', '1d')
          .prefault(printDuration(defaults.batchWaitMs))
          .describe('Maximum time that the oldest lead waits for its batch to fill.'),
      })
      .prefault({})
      .describe('How leads are grouped into batches.'),
    concurrency: z
      .int()
      .min(1)
      .max(1000)
      .default(defaults.concurrency)
      .describe('Maximum number of batches that are attempted at the same time.'),
    rate: rateOption(defaults.rate),
    timeout: durationBetween('100ms', '1h')
      .prefault(printDuration(defaults.timeoutMs))
      .describe("The deadline of one attempt, including the destination's complete answer."),
    retry: retry(),
    breaker: breaker(),
    ...mappingOptions,
  });
}

/** The parts of a sink type on which the common options depend. */
type OptionParts = Pick<SinkType, 'defaults' | 'perLead'>;

/**
 * Returns the options with a value for each lead. Their names are not in the TypeScript type, which is the same for every sink type;
 * `perLeadRules` finds the options by name.
 */
function perLeadOptions(perLead: NonNullable<SinkType['perLead']>): Record<never, never> {
  const options = Object.entries(perLead).map(([name, { means, required }]) => {
    const option = perLeadOption(means);
    return [name, required ? option : option.optional()] as const;
  });
  return Object.fromEntries(options);
}

/** Returns the rules of the options with a value for each lead; undefined if none is set. */
export function perLeadRules(
  options: SinkOptions,
  { perLead = {} }: Pick<SinkType, 'perLead'>,
): Readonly<Record<string, FieldRule>> | undefined {
  const given: Readonly<Record<string, unknown>> = options;
  const rules = Object.keys(perLead).flatMap((name) => {
    const rule = given[name] as FieldRule | undefined;
    return rule === undefined ? [] : [[name, rule] as const];
  });
  return rules.length === 0 ? undefined : Object.fromEntries(rules);
}

/** Defaults to use if the type of a sink is unknown or does not matter. Every type has the same common options, whatever their defaults. */
export const ANY_TYPE: OptionParts = {
  defaults: { events: ['created'], batchMax: 1, batchWaitMs: 0, concurrency: 1, timeoutMs: 1000 },
};

/** Returns the events that a sink type supports. A type that supports `erased` has it among its defaults. */
function eventsOf({ events }: SinkType['defaults']): readonly LeadEvent[] {
  return events.includes('erased') ? ['created', 'updated', 'erased'] : ['created', 'updated'];
}

/** The common options of a sink after validation. */
export type SinkOptions = z.output<ReturnType<typeof sinkOptions>>;

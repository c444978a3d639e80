import { z } from 'zod';
import { duration } from '../platform/options/option-types.ts';
import type { Clock } from '../platform/time/clock.ts';
import type { Condition, Limits } from './condition.ts';
import type { Destination, DestinationType } from './destination.ts';
import { destinationTypes } from './registry.ts';

const LONGEST_MS = 30 * 86_400_000;

/** A time, or `off`; gives ms, or undefined. */
function limit(fallback: string, meaning: string) {
  return z
    .union(
      [
        duration().refine((ms) => ms <= LONGEST_MS, 'must be 30d at most'),
        z.literal('off').transform(() => undefined),
      ],
      { error: 'must be a duration such as 30s, 5m, 2h or 1d, or off' },
    )
    .prefault(fallback)
    .describe(meaning);
}

/** A destination as it is written: its type, and the type's own options. */
function entryOf<Options extends z.ZodRawShape, Type extends string>(type: {
  readonly type: Type;
  readonly summary: string;
  readonly options: z.ZodObject<Options>;
}) {
  return z.strictObject({ type: z.literal(type.type).describe(type.summary), ...type.options.shape });
}

const [webhook, slack, email] = destinationTypes;

const destination = z.discriminatedUnion('type', [entryOf(webhook), entryOf(slack), entryOf(email)], {
  error: ({ code }) =>
    code === 'invalid_union'
      ? `must be one of ${destinationTypes.map(({ type }) => type).join(', ')}`
      : undefined,
});

const when = {
  no_poll: limit('15m', 'No poll has come to its end for so long after it was due.'),
  source_refused: limit(
    '2m',
    'For so long polls have failed in a way that waiting does not mend: credentials, mostly.',
  ),
  source_silent: limit(
    '1h',
    'Polls work, and no lead is new for so long at least, and for longer than the last 8 weeks make plausible (1 in 1,000). It speaks after 3 weeks.',
  ),
  listing_shrunk: limit(
    '30m',
    'A listing that had leads has had none for so long, or less than half of what it had within a week, and at least 20 fewer.',
  ),
  sink_held: limit('30m', 'A destination has not taken leads for so long.'),
  sink_paused: limit('4h', 'A sink has been paused for so long.'),
  deliveries_dead: limit('1m', 'Leads are given up. For so long more that die with them are waited for.'),
  backlog_old: limit('1h', "The oldest pending lead has waited so long, beside its batch's own wait."),
  slow_to_lead: limit(
    '5m',
    'More than 1 in 20 new leads, and at least 3, took longer than this to arrive in the last half hour.',
  ),
  config_stale: limit(
    '5m',
    'The configuration file has not been valid for so long, and an earlier one stays in force.',
  ),
  carrier_down: limit('2m', 'Redis could not be used for so long.'),
  ledger_fails: limit('1m', 'The ledger could not be written or read for so long.'),
  export_fails: limit('30m', 'An export has failed for so long, each time that it was tried again.'),
} satisfies Record<Condition, z.ZodType>;

/** `alerts:` in the configuration. `name` is what a destination may be called. */
export function alertOptions(name: z.ZodString) {
  return z.strictObject({
    to: z
      .record(name, destination)
      .default({})
      .describe(
        'Who is told, each under a name of your choice. None: nobody, and nothing of this is looked at.',
      ),
    when: z
      .strictObject(when)
      .prefault({})
      .describe(
        'What they are told of. Each takes how long it has to last, or its limit; `off` switches it off.',
      ),
  });
}

/** Who is told of what. */
export interface AlertOptions {
  readonly to: Readonly<Record<string, z.output<typeof destination>>>;
  readonly when: Limits;
}

/** Opens a configured destination. No connection is made yet. */
export function openDestination({ type, ...options }: AlertOptions['to'][string], clock: Clock): Destination {
  const found: DestinationType | undefined = destinationTypes.find((one) => one.type === type);
  if (!found) throw new Error(`no destination has the type ${type}`);
  return found.open(options, clock);
}

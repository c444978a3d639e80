import { z } from 'zod';
import { builtOnce } from '../platform/options/built-once.ts';
import { duration } from '../platform/options/option-types.ts';
import type { Clock } from '../platform/time/clock.ts';
import { webhookOptions } from '../sinks/webhook/options.ts';
import type { Condition, Limits } from './condition.ts';
import type { Destination, DestinationType } from './destination.ts';
import { destinationTypes } from './registry.ts';

const DAY_MS = 86_400_000;
const MAX_MS = 30 * DAY_MS;
const MIN_HEARTBEAT_MS = 10_000;

/** Returns the schema of a duration in ms. The value `off` is also allowed, and becomes undefined. */
function limit(fallback: string, meaning: string) {
  return z
    .union(
      [
        duration().refine((ms) => ms <= MAX_MS, 'must be at most 30d'),
        z.literal('off').transform(() => undefined),
      ],
      { error: 'must be a duration such as 30s, 5m, 2h or 1d, or off' },
    )
    .prefault(fallback)
    .describe(meaning);
}

/** Returns the schema of a configured destination: its type and the options of the type. */
function entryOf<Options extends z.ZodRawShape, Type extends string>(type: {
  readonly type: Type;
  readonly summary: string;
  readonly options: z.ZodObject<Options>;
}) {
  return z.strictObject({ type: z.literal(type.type).describe(type.summary), ...type.options.shape });
}

const destination = builtOnce(() => {
  const [webhook, slack, email] = destinationTypes;
  return z.discriminatedUnion('type', [entryOf(webhook), entryOf(slack), entryOf(email)], {
    error: ({ code }) =>
      code === 'invalid_union'
        ? `must be one of ${destinationTypes.map(({ type }) => type).join(', ')}`
        : undefined,
  });
});

const when = {
  no_poll: limit('15m', 'A poll was due this long ago, and none has completed since.'),
  source_refused: limit(
    '2m',
    'Polls have failed for this long in a way that needs an operator, usually because of wrong credentials.',
  ),
  source_silent: limit(
    '1h',
    'Polls work, but there has been no new lead for at least this long, and, judging by the last 8 weeks, the probability of that is less than 1 in 1,000. Works after 3 weeks of history.',
  ),
  listing_shrunk: limit(
    '30m',
    'For this long, a listing that had leads has been empty, or has had less than half as many leads as the largest listing of the last week, and at least 20 fewer.',
  ),
  leads_rejected: limit(
    '30m',
    "For this long, complete listings have had leads that do not match the service's API description. leadsync rejects these leads, and no sink gets them.",
  ),
  sink_held: limit('30m', 'A sink has been held for this long, because its destination does not work.'),
  sink_paused: limit('4h', 'A sink has been paused for this long.'),
  deliveries_dead: limit(
    '1m',
    'Deliveries are dead. The alert waits this long, so that one notice covers several deliveries.',
  ),
  backlog_old: limit(
    '1h',
    'The oldest pending delivery is this old, not counting the time that a batch may wait to fill.',
  ),
  slow_to_lead: limit(
    '5m',
    'In the last half hour, more than 1 in 20 new leads, and at least 3, took longer than this to be delivered.',
  ),
  config_stale: limit(
    '5m',
    'The configuration file has been invalid for this long, while an earlier configuration stays in force.',
  ),
  duty_free: limit(
    '2m',
    'For this long, no process has done a part of the work, such as the polls of a source. Only with `ledger.url`.',
  ),
  process_missing: limit(
    '1m',
    'A process was killed, is frozen or cannot reach the ledger, and has not been replaced for this long. Only with `ledger.url`.',
  ),
  config_differs: limit(
    '5m',
    'The machines have had different configurations for this long. Only with `ledger.url`.',
  ),
  clock_differs: limit(
    '5m',
    "The clock of a machine has been more than 30 s from that of the ledger's server for this long. Only with `ledger.url`.",
  ),
  carrier_down: limit('2m', 'Redis has not worked for this long.'),
  ledger_fails: limit('1m', 'leadsync has not been able to read or write the ledger for this long.'),
  disk_low: limit(
    '5m',
    'The disk of `data_dir` has had less free space than `ledger.min_free` for this long.',
  ),
  export_fails: limit('30m', 'Every attempt at an export has failed for this long.'),
  backup_fails: limit(
    '30m',
    'Every attempt at a backup has failed for this long, or a backup has been overdue for this long, counted from an hour after it was due.',
  ),
} satisfies Record<Condition, z.ZodType>;

const heartbeat = builtOnce(() =>
  z.strictObject({
    url: webhookOptions().shape.url.describe(
      'Address that leadsync requests with GET, such as that of a check at healthchecks.io or of a push monitor in Uptime Kuma. It is a secret: leadsync shows only its scheme, host and port.',
    ),
    every: duration()
      .refine((ms) => ms >= MIN_HEARTBEAT_MS && ms <= DAY_MS, 'must be between 10s and 1d')
      .prefault('1m')
      .describe(
        'Interval between requests. Configure the service to wait at least twice as long before it notifies you.',
      ),
  }),
);

/** Returns the schema of `alerts:` in the configuration. `name` is the schema of a destination's name. */
export function alertOptions(name: z.ZodString) {
  return z.strictObject({
    to: z
      .record(name, z.lazy(destination))
      .default({})
      .describe(
        'Destinations of alerts, each under a name of your choice. Without one, leadsync evaluates no condition.',
      ),
    when: z
      .strictObject(when)
      .prefault({})
      .describe(
        'The conditions for alerts. The value of each is its minimum duration or its limit; `off` disables it.',
      ),
    heartbeat: z
      .lazy(heartbeat)
      .optional()
      .describe(
        'Requests a URL regularly as long as leadsync is ready, so that a service notifies you if leadsync stops or cannot work. Absent: no heartbeat.',
      ),
  });
}

/** Options of the heartbeat. `every` is in ms. */
export type HeartbeatOptions = z.output<ReturnType<typeof heartbeat>>;

/** Destinations and conditions of alerts. */
export interface AlertOptions {
  readonly to: Readonly<Record<string, z.output<ReturnType<typeof destination>>>>;
  readonly when: Limits;
  readonly heartbeat?: HeartbeatOptions | undefined;
}

/** Opens a configured destination. Makes no connection yet. */
export function openDestination({ type, ...options }: AlertOptions['to'][string], clock: Clock): Destination {
  const found: DestinationType | undefined = destinationTypes.find((one) => one.type === type);
  if (!found) throw new Error(`no destination has the type ${type}`);
  return found.open(options, clock);
}

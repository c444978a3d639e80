import { z } from 'zod';
import { readHostAndPort } from '../platform/http/address.ts';
import { builtOnce } from '../platform/options/built-once.ts';
import { secret } from '../platform/options/option-types.ts';
import type { Secret } from '../platform/options/secret.ts';

/** Default port of a Redis server. */
const REDIS_PORT = 6379;
/** Default port of a sentinel. */
const SENTINEL_PORT = 26_379;

/** The address of a Redis server or of a sentinel. */
export interface ServerAddress {
  readonly host: string;
  readonly port: number;
}

/**
 * The user with which leadsync logs in to a Redis server or a sentinel. Without a name, it is the default user. Without a password, leadsync does not
 * log in.
 */
export interface RedisLogin {
  readonly username: string | undefined;
  readonly password: Secret | undefined;
}

/** How to connect with TLS. Each value is PEM text; undefined means the certificate authorities of Node.js, or no client certificate. */
export interface RedisTls {
  readonly ca: Secret | undefined;
  readonly cert: Secret | undefined;
  readonly key: Secret | undefined;
  /** Whether sentinels use TLS as well. */
  readonly sentinels: boolean;
}

/** Settings that all servers of a group share. */
interface Group {
  readonly login: RedisLogin;
  readonly tls: RedisTls | undefined;
  /** The addresses under which leadsync reaches servers, by the `host:port` under which the servers know each other. */
  readonly addresses: Readonly<Record<string, ServerAddress>>;
}

/** The Redis of an installation: one server, the master that sentinels name, or a cluster. */
export type RedisPlace =
  | { readonly kind: 'server'; readonly url: Secret; readonly tls: RedisTls | undefined }
  | (Group & {
      readonly kind: 'sentinel';
      readonly sentinels: readonly ServerAddress[];
      readonly master: string;
      readonly sentinelLogin: RedisLogin;
    })
  | (Group & { readonly kind: 'cluster'; readonly nodes: readonly ServerAddress[] });

/** How batches travel to where they are attempted. */
export interface QueueConfig {
  /** The Redis that BullMQ uses; undefined if this process attempts the deliveries itself. */
  readonly redis: RedisPlace | undefined;
  /** The prefix of every key in Redis. */
  readonly prefix: string;
  /** Whether Bull Board shows the queues. */
  readonly board: boolean;
}

const WRONG_URL = 'must be a redis:// or rediss:// address such as redis://127.0.0.1:6379/0';

/** Returns the schema for an address without a scheme. Its output has the default port if the text has none. */
function address(defaultPort: number) {
  const error = `must be an address without a scheme, such as redis-1.example.com:${defaultPort}`;
  return z.string({ error }).transform((text, context): ServerAddress => {
    const found = readHostAndPort(text, defaultPort);
    if (found) return found;
    context.addIssue({ code: 'custom', message: error });
    return z.NEVER;
  });
}

const tlsOptions = builtOnce(() =>
  z.strictObject({
    ca: secret()
      .optional()
      .describe(
        'The certificates of the authorities that leadsync trusts to sign server certificates, as PEM. Default: the certificate authorities of Node.js.',
      ),
    cert: secret()
      .optional()
      .describe('The certificate that leadsync presents, as PEM, if the servers ask for one. Needs `key`.'),
    key: secret().optional().describe('The key of `cert`, as PEM.'),
    sentinels: z.boolean().optional().describe('Whether the sentinels use TLS as well. Default: true.'),
  }),
);

const redisOptions = builtOnce(() =>
  z.strictObject({
    url: secret()
      .optional()
      .describe('The address of one server, as in `queue.redis_url`. Use it here to add `tls`.'),
    sentinels: z
      .array(address(SENTINEL_PORT))
      .min(1, 'must name at least one sentinel')
      .optional()
      .describe(
        'The addresses of sentinels: `[sentinel-1:26379, sentinel-2:26379]`. leadsync uses the master that they name, and follows a fail-over.',
      ),
    master: z.string().min(1).optional().describe('The name under which the sentinels watch the master.'),
    cluster: z
      .array(address(REDIS_PORT))
      .min(1, 'must name at least one node')
      .optional()
      .describe(
        'The addresses of some nodes of a Redis Cluster: `[redis-1:6379, redis-2:6379]`. leadsync asks them for the others.',
      ),
    username: z
      .string()
      .min(1)
      .optional()
      .describe(
        'The ACL user, if it is not the default user. Used with `sentinels` or `cluster`; a `url` contains its own user.',
      ),
    password: secret()
      .optional()
      .describe('The Redis password. Used with `sentinels` or `cluster`; a `url` contains its own password.'),
    sentinel_username: z
      .string()
      .min(1)
      .optional()
      .describe('The ACL user at the sentinels, if they require one.'),
    sentinel_password: secret().optional().describe('The password of the sentinels, if they require one.'),
    tls: z
      .union([z.boolean(), tlsOptions()], { error: 'must be true, false, or a map with ca, cert and key' })
      .optional()
      .describe('Connects with TLS. `true` trusts the certificate authorities of Node.js.'),
    addresses: z
      .record(
        z
          .string()
          .regex(
            /^(\[[\da-f:.]+\]|[^\s:/@]+):\d+$/i,
            'must be an address with its port, such as 10.0.0.4:6379',
          ),
        address(REDIS_PORT),
      )
      .default({})
      .describe(
        'Where leadsync reaches servers whose own address it cannot reach, as with NAT or port forwarding: `{ 10.0.0.4:6379: redis-1.example.com:6379 }`.',
      ),
  }),
);

type RedisOptions = z.output<ReturnType<typeof redisOptions>>;

/** The schema of the section `queue`. */
export const queueOptions = z
  .strictObject({
    redis_url: z
      .union([z.literal(''), secret()], {
        error: 'must be a redis:// or rediss:// address, empty, or { file: /run/secrets/x }',
      })
      .transform((value): Secret | undefined => (value === '' ? undefined : value))
      .superRefine((value, context) => {
        if (value !== undefined && !isRedisUrl(value))
          context.addIssue({ code: 'custom', message: WRONG_URL });
      })
      .prefault('')
      .describe(
        'The Redis on which BullMQ carries the deliveries. Empty: leadsync delivers in its own process.',
      ),
    redis: z
      .lazy(redisOptions)
      .optional()
      .superRefine((value, context) => {
        for (const { at, message } of value ? faultsOf(value) : [])
          context.addIssue({ code: 'custom', message, path: [at] });
      })
      .describe(
        'The Redis to use instead of `queue.redis_url`, if sentinels watch it, if it is a cluster, or if it needs its own certificates.',
      ),
    prefix: z
      .string()
      .regex(/^[\w.-]{1,64}$/, 'must consist of 1 to 64 letters, digits, _, . and -')
      .default('leadsync')
      .describe('The prefix of every key in Redis. Two installations on one Redis need different prefixes.'),
    board: z
      .boolean()
      .default(false)
      .describe(
        'Shows the queues with Bull Board at `/queues` on the admin address, read-only. They hold batch numbers and no personal data.',
      ),
  })
  .superRefine(({ redis_url: url, redis }, context) => {
    if (url && redis)
      context.addIssue({
        code: 'custom',
        message: 'names a Redis, and queue.redis_url does too: keep one of them',
        path: ['redis'],
      });
  })
  .prefault({})
  .describe('How batches reach the process that attempts them.');

/** Returns the Redis that the section `queue` names, or undefined. */
export function redisPlaceOf({
  redis_url: url,
  redis,
}: Pick<z.output<typeof queueOptions>, 'redis_url' | 'redis'>): RedisPlace | undefined {
  if (!redis) return url && { kind: 'server', url, tls: undefined };
  const tls = tlsOf(redis);
  if (redis.url) return { kind: 'server', url: redis.url, tls };
  const login = { username: redis.username, password: redis.password };
  const group = { login, tls, addresses: redis.addresses };
  if (redis.cluster) return { kind: 'cluster', nodes: redis.cluster, ...group };
  return {
    kind: 'sentinel',
    sentinels: redis.sentinels ?? [],
    master: redis.master ?? '',
    sentinelLogin: { username: redis.sentinel_username, password: redis.sentinel_password },
    ...group,
  };
}

function tlsOf({ tls }: RedisOptions): RedisTls | undefined {
  if (!tls) return undefined;
  if (tls === true) return { ca: undefined, cert: undefined, key: undefined, sentinels: true };
  return { ca: tls.ca, cert: tls.cert, key: tls.key, sentinels: tls.sentinels ?? true };
}

interface OptionFault {
  readonly at: keyof RedisOptions;
  readonly message: string;
}

/** Returns the contradictions in `queue.redis`, each with the option to blame. */
function faultsOf(redis: RedisOptions): readonly OptionFault[] {
  const [kind, other] = (['url', 'sentinels', 'cluster'] as const).filter((one) => redis[one] !== undefined);
  if (kind !== undefined && other !== undefined)
    return [
      { at: other, message: `cannot be combined with ${kind}: keep the one that describes your Redis` },
    ];
  const blame = (options: readonly (keyof RedisOptions)[], message: string): OptionFault[] =>
    options.filter((at) => redis[at] !== undefined).map((at) => ({ at, message }));
  const ofSentinels = ['master', 'sentinel_username', 'sentinel_password'] as const;
  return [
    ...(kind === 'sentinels' ? [] : blame(ofSentinels, 'is only for sentinels: remove it')),
    ...(kind === 'url'
      ? blame(['username', 'password'], 'belongs in url: rediss://USER:PASSWORD@HOST:PORT')
      : []),
    ...faultsOfNames(redis),
    ...faultsOfTls(redis),
  ];
}

function faultsOfNames(redis: RedisOptions): OptionFault[] {
  const { url, sentinels, master, addresses } = redis;
  const faults: OptionFault[] = [];
  if (sentinels && master === undefined)
    faults.push({ at: 'master', message: 'is missing: the name under which the sentinels watch the master' });
  if (url && Object.keys(addresses).length > 0)
    faults.push({
      at: 'addresses',
      message: 'has no effect with url: put the address that leadsync can reach into url',
    });
  for (const [name, password] of [
    ['username', 'password'],
    ['sentinel_username', 'sentinel_password'],
  ] as const)
    if (redis[name] !== undefined && redis[password] === undefined)
      faults.push({ at: name, message: `has no effect without ${password}` });
  return faults;
}

function faultsOfTls({ url, cluster, tls }: RedisOptions): OptionFault[] {
  const faults: OptionFault[] = [];
  const encrypted = url?.reveal().startsWith('rediss:');
  if (url && !isRedisUrl(url)) faults.push({ at: 'url', message: WRONG_URL });
  else if (url && tls && !encrypted)
    faults.push({ at: 'url', message: 'must begin with rediss:// to use tls' });
  if (tls === false && encrypted)
    faults.push({ at: 'tls', message: 'contradicts url, which begins with rediss://: remove one of them' });
  if (typeof tls !== 'object') return faults;
  if ((tls.cert === undefined) !== (tls.key === undefined))
    faults.push({ at: 'tls', message: 'needs cert and key together, or neither' });
  if (tls.sentinels !== undefined && (url || cluster))
    faults.push({ at: 'tls', message: 'has `sentinels`, which is only for sentinels: remove it' });
  return faults;
}

function isRedisUrl(text: Secret): boolean {
  // The scheme must be in lower case: ioredis compares it case-sensitively, and would send the password in a REDISS:// URL without TLS.
  return /^rediss?:\/\//.test(text.reveal()) && URL.canParse(text.reveal());
}

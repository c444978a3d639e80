import { S3_SECRETS } from '../../exports/contract/options.ts';

/** The top of the configuration without what may stay unread. */
export function withoutSecrets(root: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const { tokens: _, store: __, alerts: ___, ...rest } = root;
  return {
    ...rest,
    ...('queue' in root ? { queue: without(root['queue'], 'redis_url') } : {}),
    ...(isMap(root['exports'])
      ? { exports: mapValues(root['exports'], (entry) => without(entry, ...S3_SECRETS)) }
      : {}),
    ...('admin' in root ? { admin: without(root['admin'], 'token') } : {}),
  };
}

function without(section: unknown, ...options: readonly string[]): unknown {
  if (!isMap(section)) return section;
  return Object.fromEntries(Object.entries(section).filter(([key]) => !options.includes(key)));
}

function mapValues(
  map: Record<string, unknown>,
  change: (value: unknown) => unknown,
): Record<string, unknown> {
  return Object.fromEntries(Object.entries(map).map(([key, value]) => [key, change(value)]));
}

/** What YAML calls a map. */
export function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

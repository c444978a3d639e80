import { describe, expect, test } from 'vitest';
import { compareConfigs } from '../../src/config/changes/compare-configs.ts';
import { describeConfig } from '../../src/config/load-config.ts';
import { faultsOf, pigeons, read, SOURCE } from './reading.ts';

const queue = (text: string) => `${SOURCE}queue:\n  redis: ${text}\n`;

describe('queue.redis', () => {
  test('names one server with its own certificates', () => {
    const { redis } = read(
      queue('{ url: rediss://r:6380, tls: { ca: AUTHORITY, cert: OURS, key: KEY } }'),
    ).queue;
    expect(redis?.kind === 'server' && redis.url.reveal()).toBe('rediss://r:6380');
    expect([redis?.tls?.ca, redis?.tls?.cert, redis?.tls?.key].map((one) => one?.reveal())).toEqual([
      'AUTHORITY',
      'OURS',
      'KEY',
    ]);
  });

  test('names sentinels, with the port of a sentinel where an address has none', () => {
    const text =
      '{ sentinels: [s-1, "[::1]:26380"], master: leads, password: p, sentinel_password: s, tls: true, addresses: { "10.0.0.4:6379": r-1:7000 } }';
    expect(read(queue(text)).queue.redis).toMatchObject({
      kind: 'sentinel',
      sentinels: [
        { host: 's-1', port: 26_379 },
        { host: '::1', port: 26_380 },
      ],
      master: 'leads',
      tls: { sentinels: true },
      addresses: { '10.0.0.4:6379': { host: 'r-1', port: 7000 } },
    });
  });

  test('names nodes of a cluster', () => {
    const { redis } = read(queue('{ cluster: [r-1:7000, r-2], username: leadsync, password: p }')).queue;
    expect(redis).toMatchObject({
      kind: 'cluster',
      nodes: [
        { host: 'r-1', port: 7000 },
        { host: 'r-2', port: 6379 },
      ],
      login: { username: 'leadsync' },
      tls: undefined,
    });
  });

  test.each([
    ['{}', 'queue.redis: names no Redis; add one of `url`, `sentinels` and `cluster`'],
    ['{ url: REDISS://r }', 'queue.redis.url: must be a redis:// or rediss:// address'],
    ['{ url: redis://r, addresses: { "a:1": b } }', 'queue.redis.addresses: has no effect with url'],
    ['{ cluster: [r], addresses: { a: b } }', 'must be an address with its port'],
    ['{ cluster: [r], username: u }', 'queue.redis.username: has no effect without password'],
    ['{ cluster: [r], tls: { sentinels: false } }', 'queue.redis.tls: has `sentinels`'],
    ['{ url: redis://r, cluster: [r] }', 'queue.redis.cluster: cannot be combined with url'],
    ['{ sentinels: [s] }', 'queue.redis.master: is missing'],
    ['{ cluster: [r], master: m }', 'queue.redis.master: is only for sentinels'],
    ['{ cluster: [] }', 'queue.redis.cluster: must name at least one node'],
    ['{ cluster: [redis://r:6379] }', 'queue.redis.cluster[0]: must be an address without a scheme'],
    ['{ cluster: [r:0] }', 'queue.redis.cluster[0]: must be an address without a scheme'],
    ['{ cluster: [r:6379/1] }', 'queue.redis.cluster[0]: must be an address without a scheme'],
    ['{ url: redis://r, password: p }', 'queue.redis.password: belongs in url'],
    ['{ url: redis://r, tls: true }', 'queue.redis.url: must begin with rediss:// to use tls'],
    ['{ url: rediss://r, tls: false }', 'queue.redis.tls: contradicts url'],
    ['{ url: localhost }', 'queue.redis.url: must be a redis:// or rediss:// address'],
    ['{ cluster: [r], tls: { cert: C } }', 'queue.redis.tls: needs cert and key together, or neither'],
    ['{ cluster: [r], tls: { ca_file: C } }', 'queue.redis.tls: unknown key "ca_file"'],
    ['{ cluster: [r] }\n  redis_url: redis://r', 'queue.redis: names a Redis, and queue.redis_url does too'],
  ])('%s is a fault', (text, fault) => {
    const faults = faultsOf(queue(text));
    expect(faults).toHaveLength(1);
    expect(faults[0]).toContain(fault);
  });

  test('is enough for the board of queues', () => {
    expect(read(queue('{ cluster: [r] }\n  board: true')).queue.board).toBe(true);
  });

  test('shows no secret', () => {
    const text = queue('{ cluster: [r-1:7000], password: canary, tls: { key: canary, cert: canary } }');
    const values = describeConfig('leadsync.yaml', {
      sinkTypes: pigeons,
      env: {},
      readFile: () => Buffer.from(text),
    });
    const shown = values.filter(({ path }) => path.startsWith('queue.redis')).map(({ value }) => value);
    expect(shown.join(' ')).toContain('r-1');
    expect(shown.join(' ')).not.toContain('canary');
  });

  test('takes effect after a restart, unless it names the same Redis as before', () => {
    const before = read(`${SOURCE}queue: { redis_url: redis://r:6379 }\n`);
    const same = read(queue('{ url: redis://r:6379 }'));
    expect(compareConfigs(before, same).restart).toEqual([]);
    const cluster = read(queue('{ cluster: [r:6379] }'));
    expect(compareConfigs(before, cluster).restart).toEqual(['queue.redis_url', 'queue.redis']);
    const rotated = read(queue('{ cluster: [r:6379], password: p }'));
    expect(compareConfigs(cluster, rotated).restart).toEqual(['queue.redis']);
  });
});

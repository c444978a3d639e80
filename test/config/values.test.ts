import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { loadConfig } from '../../src/config/load-config.ts';
import { pigeons, read, SOURCE } from './reading.ts';

const sink = (lines: string) => `${SOURCE}sinks:\n  p: { type: pigeon, loft: ./loft, ${lines} }\n`;

describe('an option that is left out has the documented default', () => {
  test('of the daemon', () => {
    const { file, dataDir, sinks, queue, admin, log, tokenKey, gracePeriodMs } = read(SOURCE);
    expect({ file, dataDir, sinks, queue, admin, log, tokenKey, gracePeriodMs }).toEqual({
      file: '/etc/leadsync/leadsync.yaml',
      dataDir: '/etc/leadsync/data',
      sinks: [],
      queue: { redis: undefined, prefix: 'leadsync', board: false },
      admin: { host: '127.0.0.1', port: 9464 },
      log: { level: 'info', format: undefined },
      tokenKey: undefined,
      gracePeriodMs: 25_000,
    });
  });

  test('of a source', () => {
    const [source] = read(SOURCE).sources;
    expect(source).toMatchObject({
      name: 'main',
      poll: { everyMs: 30_000 },
      options: { base_url: 'https://leads.example.com', leads_path: '/api/v1/leads' },
    });
    expect(source?.options).not.toHaveProperty('poll');
  });

  test('of a sink, in part specific to its type', () => {
    const [sinkConfig] = read(`${SOURCE}sinks:\n  p: { type: pigeon, loft: /loft }\n`).sinks;
    expect(sinkConfig).toEqual({
      name: 'p',
      type: pigeons[0],
      options: { loft: '/loft' },
      enabled: true,
      events: ['created'],
      batch: { max: 3, waitMs: 0 },
      concurrency: 2,
      timeoutMs: 15_000,
      retry: {
        scheduleMs: [5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400].map(
          (seconds) => seconds * 1000,
        ),
        jitter: 0.2,
      },
      breaker: { failureRate: 0.9, consecutiveFailures: 5, maxProbeWaitMs: 60_000 },
      backfill: true,
      mapping: undefined,
      mappingTests: [],
    });
  });
});

test('every common option of a sink is read', () => {
  const text = sink(
    'enabled: false, events: [updated, created], batch: { max: 9, wait: 1m }, concurrency: 4, rate: 100/m, timeout: 3s, retry: { schedule: [1s, 1.5m], jitter: 0 }, breaker: { failure_rate: 0.5, consecutive_failures: 3, max_probe_wait: 10s }, backfill: false',
  );
  expect(read(text).sinks[0]).toMatchObject({
    enabled: false,
    events: ['updated', 'created'],
    batch: { max: 9, waitMs: 60_000 },
    concurrency: 4,
    rate: { batches: 100, perMs: 60_000 },
    timeoutMs: 3000,
    retry: { scheduleMs: [1000, 90_000], jitter: 0 },
    breaker: { failureRate: 0.5, consecutiveFailures: 3, maxProbeWaitMs: 10_000 },
    backfill: false,
  });
});

test.each([
  ['poll: { every: 1.5s }', { everyMs: 1500 }],
  ['poll: { cron: "*/5 8-18 * * 1-5" }', { cron: '*/5 8-18 * * 1-5', timezone: undefined }],
  [
    'poll: { cron: "*/10 * * * * *", timezone: Australia/Sydney }',
    { cron: '*/10 * * * * *', timezone: 'Australia/Sydney' },
  ],
])('a source is polled by an interval or by cron: %s', (poll, expected) => {
  expect(read(`${SOURCE}    ${poll}\n`).sources[0]?.poll).toEqual(expected);
});

test.each([
  ['0.0.0.0:80, token: sixteen-letters!', { host: '0.0.0.0', port: 80 }],
  ['127.0.0.2:80', { host: '127.0.0.2', port: 80 }],
  ['"[::1]:9464"', { host: '::1', port: 9464 }],
  ['localhost:0', { host: 'localhost', port: 0 }],
  ['off', undefined],
])('admin.listen: %s', (listen, expected) => {
  expect(read(`${SOURCE}admin: { listen: ${listen} }\n`).admin).toEqual(expected);
});

test('an alias stands for a whole value, including its variables', () => {
  const text = `${SOURCE}sinks:\n  a: { type: pigeon, loft: a, retry: &retry { jitter: 0.5 } }\n  b: { type: pigeon, loft: b, retry: *retry }\n`;
  expect(read(text).sinks.map(({ retry }) => retry.jitter)).toEqual([0.5, 0.5]);
});

test('names of properties that every object has are ordinary names', () => {
  const text = `${SOURCE}sinks:\n  constructor: { type: pigeon, loft: a }\n`;
  expect(read(text).sinks.map(({ name }) => name)).toEqual(['constructor']);
});

describe('from a file', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'leadsync-config-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  const load = (text: string | Buffer, name = 'leadsync.yaml') => {
    writeFileSync(join(folder, name), text);
    return loadConfig(join(folder, name), { sinkTypes: pigeons, env: {} });
  };

  test('relative paths are resolved from the folder of the file, not from the current one', () => {
    writeFileSync(join(folder, 'key'), 'a passphrase of some length\r\n');
    const config = load(
      `data_dir: state\ntokens: { encryption_key: { file: key } }\n${sink('password: { file: ./key }')}`,
    );
    expect(config.dataDir).toBe(join(folder, 'state'));
    expect(config.tokenKey?.reveal()).toBe('a passphrase of some length');
    expect(config.sinks[0]?.options).toMatchObject({ loft: join(folder, 'loft') });
    expect(config.sinks[0]?.options['password']).toHaveProperty('reveal');
  });

  test('a map that happens to have the key `file` stays a map', () => {
    const [sinkConfig] = load(sink('rings: { file: gold }')).sinks;
    expect(sinkConfig?.options['rings']).toMatchObject({ file: expect.objectContaining({}) });
    const rings = sinkConfig?.options['rings'] as Record<string, { reveal(): string }>;
    expect(rings['file']?.reveal()).toBe('gold');
  });

  test('it may begin with a byte-order mark and have Windows line endings', () => {
    expect(load(`\uFEFF${SOURCE.replaceAll('\n', '\r\n')}`).sources).toHaveLength(1);
  });

  test.each([
    ['is not UTF-8 text; save it as UTF-8', Buffer.from(`\uFEFF${SOURCE}`, 'utf16le')],
    ['is not UTF-8 text; save it as UTF-8', Buffer.from('data_dir: caf\xe9', 'latin1')],
    [
      'is larger than 256 kB; a configuration usually has a few kB: is this the right file?',
      `#${'x'.repeat(256 * 1024)}`,
    ],
  ])('it %s', (message, text) => {
    expect(() => load(text)).toThrow(`leadsync.yaml: ${message}`);
  });

  test('a named pipe is rejected without waiting for a writer', () => {
    const pipe = join(folder, 'pipe');
    execFileSync('mkfifo', [pipe]);
    expect(() => loadConfig(pipe, { sinkTypes: pigeons, env: {} })).toThrow(
      'pipe: is a named pipe or a device',
    );
    const secret = SOURCE.replace(/client_secret: .*/, `client_secret: { file: ${pipe} }`);
    expect(() => load(secret)).toThrow(
      'is a named pipe or a device: a secret must be in a small regular file',
    );
  });

  test('a file that is too large for a configuration or a secret is rejected without being read', () => {
    const huge = join(folder, 'huge');
    writeFileSync(huge, '');
    // Sparse, and more than Node reads into one buffer.
    truncateSync(huge, 3 * 1024 ** 3);
    expect(() => loadConfig(huge, { sinkTypes: pigeons, env: {} })).toThrow('huge: is larger than 256 kB');
    truncateSync(huge, 256 * 1024 + 1);
    const secret = SOURCE.replace(/client_secret: .*/, `client_secret: { file: ${huge} }`);
    expect(() => load(secret)).toThrow('is too large: a secret must be in a small regular file');
  });

  test('the error for a missing file, a folder or a device names it', () => {
    expect(() => loadConfig('nowhere.yaml', { sinkTypes: pigeons, env: {} })).toThrow(
      'nowhere.yaml: there is no such file; `leadsync init` creates one, -c names another',
    );
    expect(() => loadConfig(folder, { sinkTypes: pigeons, env: {} })).toThrow(
      `${folder}: is a folder; name the file in it`,
    );
    expect(() => loadConfig('/dev/zero', { sinkTypes: pigeons, env: {} })).toThrow(
      '/dev/zero: is a named pipe or a device; use a regular file, since each reload reads it again',
    );
  });
});

test('the public address of the pages has no trailing slash', () => {
  expect(read(`${SOURCE}admin: { public_url: "https://Leads.Example.com:8443/" }\n`).publicUrl).toBe(
    'https://leads.example.com:8443',
  );
  expect(read(SOURCE).publicUrl).toBeUndefined();
});

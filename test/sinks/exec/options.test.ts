import { describe, expect, test } from 'vitest';
import { describeSink } from '../../../src/config/changes/compare-configs.ts';
import { configWarnings } from '../../../src/config/config-warnings.ts';
import { describeConfig, parseConfig } from '../../../src/config/load-config.ts';
import { execOptions, secretsOf } from '../../../src/sinks/exec/options.ts';
import { sinkTypes } from '../../../src/sinks/registry.ts';
import { faultsOf, SOURCE } from '../../config/reading.ts';

const faults = (sink: string) =>
  faultsOf(`${SOURCE}sinks:\n  s: { type: exec, ${sink} }\n`, {}, sinkTypes).join('\n');

describe('the options of an exec sink', () => {
  test.each([
    ['command: psql -f load.sql', /must be a list of the program and its arguments/],
    ['command: []', /must begin with the program/],
    ['command: [""]', /must begin with the program/],
    ['command: [a, 1]', /must be a list/],
    ['command: [a], config: { a: b }', /`config` is only for Singer targets.*`speaks: singer`/],
    ['command: [a], speaks: singer, config: { password: { file: /no/such/file } }', /there is no such file/],
    ['command: [a], env: { "A-B": c }', /is not the name of an environment variable/],
    ['command: [a], max_lead_size: 1', /must be a size/],
  ])('%s is a fault', (sink, fault) => {
    expect(faults(sink)).toMatch(fault);
  });

  test.each([
    'command: psql',
    'command: [./load, "", "a b"]',
    'command: [t], speaks: singer, config: { a: { b: [1, x] } }',
  ])('%s is rejected', (sink) => {
    expect(faults(sink)).toBe('');
  });

  test.each([
    ['[sh, -c, "jq .data | gzip >> leads.gz"]', 1],
    ['[/usr/bin/env, bash, -ec, "jq .data | gzip >> leads.gz"]', 1],
    ['[bash, -o, pipefail, -c, "jq .data | gzip >> leads.gz"]', 0],
    ['[bash, -c, "set -o pipefail; jq .data | gzip >> leads.gz"]', 0],
    ['[sh, -c, "jq \'.data | .id\' >> leads || exit 75"]', 0],
    ['[jq, ".data | .id"]', 0],
  ] as const)('of the pipeline %s, validate gives %i warnings', (command, count) => {
    const config = `${SOURCE}sinks:\n  s: { type: exec, command: ${command} }\n`;
    const warnings = configWarnings(
      parseConfig(config, '/etc/leadsync/leadsync.yaml', { sinkTypes, env: {} }),
    );
    expect(warnings.filter((warning) => warning.includes('pipefail'))).toHaveLength(count);
  });

  const text = (speaks: string) => `${SOURCE}sinks:
  s:
    type: exec
    command: [target]
    speaks: ${speaks}
    env: { TOKEN: k4n4rienvogel-1 }
${speaks === 'singer' ? '    config: { password: k4n4rienvogel-2, port: 5432, deep: { list: [k4n4rienvogel-3] } }\n' : ''}`;
  const read = (speaks: string) => {
    const [sink] = parseConfig(text(speaks), '/etc/leadsync/leadsync.yaml', { sinkTypes, env: {} }).sinks;
    if (!sink) throw new Error('the sink has a fault');
    return sink;
  };

  test('the defaults suit what the program reads: seconds for lines, few starts for a target', () => {
    expect(read('jsonl')).toMatchObject({
      batch: { max: 1000, waitMs: 0 },
      concurrency: 1,
      timeoutMs: 60_000,
    });
    expect(read('singer')).toMatchObject({ batch: { max: 10_000, waitMs: 300_000 }, timeoutMs: 300_000 });
  });

  test('the secrets that a program may write to standard error are known, the longest first', () => {
    const options = execOptions().parse({
      command: 'p',
      speaks: 'singer',
      env: {
        A_TOKEN: 'k4n4ri',
        B_TOKEN: 'k4n4ri-v0gel',
        DSN: 'postgres://leads:am%40sel@db/leads',
        MORE: 'host=db password=meise user=a',
        LANGUAGE: 'German',
      },
      config: {
        credentials: { value: 'fink' },
        tokens: ['spatz'],
        key: '-----\nMIIEvQIBADANBgkq\n',
        user: 'leads',
      },
    });
    const secrets = secretsOf(options);
    expect(secrets).toEqual(
      expect.arrayContaining([
        ...['k4n4ri', 'k4n4ri-v0gel', 'am%40sel', 'am@sel', 'meise', 'fink', 'spatz', 'MIIEvQIBADANBgkq'],
        '-----\\nMIIEvQIBADANBgkq\\n',
      ]),
    );
    expect(secrets).toEqual(secrets.toSorted((a, b) => b.length - a.length));
    for (const plain of ['German', 'leads', '-----']) expect(secrets).not.toContain(plain);
  });

  test('the program runs in the folder of the configuration', () => {
    expect(read('jsonl').options['cwd']).toBe('/etc/leadsync');
  });

  test('nothing of `config` and `env` is shown or stored', () => {
    expect(describeSink(read('singer'))).not.toContain('k4n4rienvogel');
    const shown = describeConfig('/etc/leadsync/leadsync.yaml', {
      sinkTypes,
      env: {},
      readFile: () => Buffer.from(text('singer')),
    });
    const values = shown.map(({ path, value }) => `${path} ${value}`);
    expect(values).toEqual(
      expect.arrayContaining([
        'sinks.s.config.password [secret]',
        'sinks.s.config.deep.list[0] [secret]',
        'sinks.s.env.TOKEN [secret]',
        'sinks.s.batch.wait 5m',
        'sinks.s.cwd /etc/leadsync',
      ]),
    );
    expect(values.join('\n')).not.toContain('k4n4rienvogel');
  });
});

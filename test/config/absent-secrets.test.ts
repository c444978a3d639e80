import { expect, test } from 'vitest';
import { loadLedgerConfig, parseConfig } from '../../src/config/load-config.ts';
import { takesSecretFile } from '../../src/config/options/absolute-paths.ts';
import { daemonOptions } from '../../src/config/options/daemon-options.ts';
import { isSchema, optionJsonSchema } from '../../src/config/options/option-json-schema.ts';
import { sinkTypes } from '../../src/sinks/registry.ts';

const parts = { sinkTypes, env: {} };

/** Every secret that a section of the configuration has as an option of its own. */
function secrets(): string[] {
  return Object.entries(optionJsonSchema(daemonOptions).properties ?? {}).flatMap(([section, schema]) => {
    const options = Object.entries((isSchema(schema) && schema.properties) || {});
    return options.flatMap(([option, form]) => (takesSecretFile(form) ? [`${section}.${option}`] : []));
  });
}

test('the schema marks the secrets', () => {
  expect(secrets()).toEqual(
    expect.arrayContaining(['queue.redis_url', 'admin.token', 'tokens.encryption_key', 'store.client_key']),
  );
});

test.each(
  secrets()
    .filter((secret) => secret !== 'ledger.url')
    .flatMap((secret) => [
      [secret, '${NOT_SET}'],
      [secret, '{ file: /does/not/exist }'],
    ]),
)('%s may be absent (%s) for commands that only read the ledger, but not for run', (secret, value) => {
  const [section, option] = secret.split('.');
  const yaml = `sources:
  main: { base_url: 'https://leads.example.com', client_id: a, client_secret: b }
${section}: { ${option}: ${value.startsWith('$') ? `'${value}'` : value} }
`;
  const file = '/etc/leadsync/leadsync.yaml';
  const ofLedger = loadLedgerConfig(file, { ...parts, readFile: () => Buffer.from(yaml) });
  expect(ofLedger.sources).toMatchObject([{ name: 'main' }]);
  expect(() => parseConfig(yaml, file, parts)).toThrow(value.startsWith('$') ? 'NOT_SET' : '/does/not/exist');
});

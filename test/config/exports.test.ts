import { expect, test } from 'vitest';
import { loadLedgerConfig } from '../../src/config/load-config.ts';
import { faultsOf, pigeons, read, SOURCE } from './reading.ts';

test('an export has its defaults, and its folder is that of the configuration', () => {
  const { exports } = read(`${SOURCE}exports:
  nightly: { type: directory, directory: out, at: "03:00", timezone: Europe/Berlin, keep: 3 }
  lake:
    type: s3
    bucket: leads
    every: 1h
    rows: new
    tables: [leads, leads, polls]
`);
  expect(exports).toMatchObject([
    {
      name: 'nightly',
      tables: ['leads'],
      format: 'parquet',
      rows: 'all',
      schedule: { at: '03:00', timezone: 'Europe/Berlin' },
      keep: 3,
      target: { type: 'directory', directory: '/etc/leadsync/out' },
    },
    {
      name: 'lake',
      tables: ['leads', 'polls'],
      rows: 'new',
      schedule: { everyMs: 3_600_000 },
      keep: undefined,
      target: { type: 's3', bucket: 'leads', prefix: '', path_style: false, checksums: true },
    },
  ]);
});

const directory = 'type: directory, directory: out';

test.each([
  ['a: 1', 'exports.a: must be a map'],
  ['a: { every: 1d }', '"type" is missing'],
  ['a: { type: ftp, every: 1d }', 'exports.a.type: must be one of directory, s3'],
  [`a: { ${directory} }`, 'exports.a: has no schedule: set `every: 1d` or `at: "03:00"`'],
  [`a: { ${directory}, every: 1d, at: "03:00" }`, 'exports.a.at: cannot be combined with `every`'],
  [`a: { ${directory}, every: 1d, timezone: UTC }`, 'exports.a.timezone: has no effect without `at`'],
  [`a: { ${directory}, at: "25:00" }`, 'exports.a.at: must be a time of day such as "03:00"'],
  [`a: { ${directory}, at: "03:00", timezone: Mars }`, 'exports.a.timezone: must be a time zone'],
  [`a: { ${directory}, every: 1s }`, 'exports.a.every: must be between 1m and 366d'],
  [`a: { ${directory}, every: 1d, keep: 0 }`, 'exports.a.keep: must be 1 or more'],
  [
    `a: { ${directory}, every: 1d, rows: new, keep: 2 }`,
    'exports.a.keep: would delete rows for good with `rows: new`',
  ],
  [`a: { ${directory}, every: 1d, tables: [] }`, 'exports.a.tables'],
  [`a: { ${directory}, every: 1d, tables: [leds] }`, 'did you mean "leads"?'],
  [`a: { ${directory}, every: 1d, format: xlsx }`, 'exports.a.format: must be one of'],
  [`a: { ${directory}, every: 1d, bucket: b }`, 'unknown key "bucket"'],
  ['a: { type: s3, every: 1d }', '"bucket" is missing'],
  ['a: { type: s3, bucket: b, every: 1d, endpoint: minio }', 'must be an address such as'],
  ['a: { type: s3, bucket: b, every: 1d, access_key_id: k }', 'set both, or neither'],
  [`A!: { ${directory}, every: 1d }`, 'a name consists of a-z'],
])('%s is rejected with the reason', (entry, message) => {
  expect(faultsOf(`${SOURCE}exports:\n  ${entry}\n`).join('\n')).toContain(message);
});

test('a command that only reads the ledger needs no key of a storage', () => {
  const text = `${SOURCE}exports:
  lake:
    type: s3
    bucket: leads
    every: 1h
    access_key_id: \${NOT_SET}
    secret_access_key: { file: /nowhere/key }
`;
  const parts = { sinkTypes: pigeons, env: {}, readFile: () => Buffer.from(text) };
  expect(loadLedgerConfig('/etc/leadsync/leadsync.yaml', parts).exports).toMatchObject([
    { name: 'lake', target: { bucket: 'leads' } },
  ]);
  expect(faultsOf(text)).toHaveLength(2);
});

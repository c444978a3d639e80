import { describe, expect, test } from 'vitest';
import { changedOptions, describeChangedOption } from '../../src/config/changes/changed-options.ts';
import { describeConfig, loadLedgerConfig, loadLenientConfig } from '../../src/config/load-config.ts';
import { sinkTypes } from '../../src/sinks/registry.ts';
import { faultsOf, pigeons, read, SOURCE } from './reading.ts';

const URL_LINE = "url: 'postgresql://leadsync:let-me-in@db.example.com/leads'";
const unencrypted = (...lines: string[]) =>
  `${SOURCE}ledger:\n${lines.map((line) => `  ${line}\n`).join('')}`;
const ledger = (...lines: string[]) =>
  `${unencrypted(...lines)}tokens: { encryption_key: a passphrase for every machine }\n`;
const ofLedger = (text: string, env = {}) => ({ sinkTypes: pigeons, env, readFile: () => Buffer.from(text) });

describe('ledger.url', () => {
  test('names a server, with its own schema and number of connections', () => {
    expect(read(SOURCE).ledgerServer).toBeUndefined();
    const { ledgerServer } = read(ledger(URL_LINE));
    expect(ledgerServer).toMatchObject({ schema: 'leadsync_ledger', connections: 4 });
    expect(ledgerServer?.url.reveal()).toBe('postgresql://leadsync:let-me-in@db.example.com/leads');
    expect(read(ledger(URL_LINE, 'schema: store', 'connections: 12')).ledgerServer).toMatchObject({
      schema: 'store',
      connections: 12,
    });
  });

  test.each([
    ['url: mysql://db/leads', '7:8: ledger.url: must be an address such as postgresql://'],
    ["url: ''", '7:8: ledger.url: must not be empty'],
    ['schema: store', '7:11: ledger.schema: has no effect without ledger.url'],
    ['connections: 4', '7:16: ledger.connections: has no effect without ledger.url'],
    [`${URL_LINE}\n  schema: pg_store`, '8:11: ledger.schema: must have up to 63 letters'],
    [`${URL_LINE}\n  connections: 1`, '8:16: ledger.connections: must be 2 or more'],
  ])('refuses %s', (line, fault) => {
    expect(faultsOf(ledger(line))).toEqual([expect.stringContaining(fault)]);
  });

  test('needs a key that encrypts the tokens, which are then in the database', () => {
    expect(faultsOf(unencrypted(URL_LINE))).toEqual([
      expect.stringContaining('7:8: ledger.url: needs tokens.encryption_key'),
    ]);
    expect(faultsOf(ledger(URL_LINE))).toEqual([]);
  });

  test('refuses what needs a ledger in a file', () => {
    const text = `${ledger(URL_LINE)}backups:
  nightly: { type: directory, directory: ./backups, every: 1d }
exports:
  lake: { type: directory, directory: ./lake, every: 1d }
sinks:
  dwh: { type: postgres, url: 'postgresql://x:y@other/leads', mirror: 10s }
  off: { type: postgres, url: 'postgresql://x:y@other/leads', schema: off, mirror: false }
  unset: { type: postgres, url: 'postgresql://x:y@other/leads', schema: unset }
`;
    expect(faultsOf(text, {}, [...sinkTypes])).toEqual([
      expect.stringContaining(': backups: cannot back up'),
      expect.stringContaining('14:71: sinks.dwh.mirror: copies only'),
    ]);
    const without = text.replace(ledger(URL_LINE), SOURCE);
    expect(faultsOf(without, {}, [...sinkTypes])).toEqual([]);
  });

  test.each([
    ['postgresql://sink:pw@db.example.com:5432/leads', 'leadsync_ledger', 1],
    ['postgresql://sink:pw@db.example.com/leads', 'leadsync', 0],
    ['postgresql://sink:pw@db.example.com/other', 'leadsync_ledger', 0],
  ])('refuses a sink in the schema of the ledger: %s, %s', (url, schema, faults) => {
    const text = `${ledger(URL_LINE)}sinks:\n  dwh: { type: postgres, url: '${url}', schema: ${schema} }\n`;
    const found = faultsOf(text, {}, [...sinkTypes]);
    expect(found).toHaveLength(faults);
    if (faults > 0) expect(found[0]).toContain('sinks.dwh.schema: is the schema of the ledger');
  });
});

describe('a command that only opens the ledger', () => {
  const text = ledger('url: ${DATABASE_URL}');

  test('gets the server', () => {
    const env = { DATABASE_URL: 'postgresql://db/leads' };
    for (const load of [loadLedgerConfig, loadLenientConfig])
      expect(load('/f', ofLedger(text, env)).ledgerServer?.url.reveal()).toBe(env.DATABASE_URL);
  });

  test('never takes the file in data_dir for the ledger if it cannot read the address', () => {
    for (const load of [loadLedgerConfig, loadLenientConfig]) {
      expect(() => load('/f', ofLedger(text))).toThrow('the variable DATABASE_URL is not set');
      expect(() => load('/f', ofLedger(ledger('url: { file: /does/not/exist }')))).toThrow('/does/not/exist');
      expect(() => load('/f', ofLedger(ledger(URL_LINE, 'connections: 0')))).toThrow('ledger.connections');
      expect(() => load('/f', ofLedger(ledger('url:')))).toThrow('ledger.url');
    }
  });

  test('gets the server even if something else in the section or in the file is wrong', () => {
    const wrong = `${ledger(URL_LINE)}admin: { listen: nowhere }\n`;
    expect(loadLenientConfig('/f', ofLedger(wrong)).ledgerServer?.schema).toBe('leadsync_ledger');
  });
});

test('no password is shown, and a change needs a restart', () => {
  const shown = describeConfig('/f', ofLedger(ledger(URL_LINE)));
  expect(shown.find(({ path }) => path === 'ledger.url')?.value).toBe('postgresql://db.example.com/[secret]');
  expect(JSON.stringify(shown)).not.toContain('let-me-in');
  const changes = (before: string, after: string) =>
    changedOptions(read(before), read(after)).map(describeChangedOption);
  expect(changes(ledger().replace('ledger:\n', ''), ledger(URL_LINE))).toEqual([
    'ledger.url: (not set) -> postgresql://db.example.com/[secret] (needs a restart)',
  ]);
  expect(changes(ledger(URL_LINE), ledger(URL_LINE.replace('let-me-in', 'changed')))).toEqual([
    'ledger.url: changed (needs a restart)',
  ]);
  expect(changes(ledger(URL_LINE), ledger(URL_LINE, 'schema: store', 'connections: 5'))).toEqual([
    'ledger.schema: (not set) -> store (needs a restart)',
    'ledger.connections: (not set) -> 5 (needs a restart)',
  ]);
});

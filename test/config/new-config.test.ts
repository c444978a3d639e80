import { resolve } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { exampleConfig } from '../../src/config/initial/example-config.ts';
import { type NewConfig, newConfig, sinksToSetUp, variablesIn } from '../../src/config/initial/new-config.ts';
import { parseConfig } from '../../src/config/load-config.ts';
import { sinkTypes } from '../../src/sinks/registry.ts';
import { faultsOf, pigeons } from './reading.ts';

const env = {
  LEADS_CLIENT_ID: 'client',
  LEADS_CLIENT_SECRET: 's',
  CRM_WEBHOOK_SECRET: `whsec_${Buffer.alloc(32, 7).toString('base64')}`,
  DATABASE_URL: 'postgres://leadsync:p@db.example/leads',
  MYSQL_URL: 'mysql://leadsync:p@db.example/leads',
  SMTP_URL: 'smtp://u:p@mail.example:587',
  HUBSPOT_TOKEN: 'pat-eu1-0123',
  SALESFORCE_DOMAIN: 'https://example.my.salesforce.com',
  SALESFORCE_CLIENT_ID: 'app',
  SALESFORCE_CLIENT_SECRET: 's',
  PIPEDRIVE_DOMAIN: 'https://example.pipedrive.com',
  PIPEDRIVE_TOKEN: 't',
  SLACK_WEBHOOK_URL: 'https://hooks.slack.com/services/T1/B1/s',
};
const plain: NewConfig = { serviceUrl: 'https://leads.example.com', every: '30s', sinks: {} };
const all: NewConfig = {
  ...plain,
  sinks: Object.fromEntries(sinkTypes.map(({ type, setup }) => [type, setup.standard])),
};

describe('a new configuration', () => {
  test.each([
    ['without a sink', plain],
    ['with every type of sink', all],
    ['with one', { ...plain, sinks: { csv: '/var/drop' } }],
  ])('%s is valid', (_, given) => {
    expect(faultsOf(newConfig(given, sinkTypes), env, sinkTypes)).toEqual([]);
  });

  test('has what a type of sink says for itself, whichever that is', () => {
    const text = newConfig({ ...plain, sinks: { pigeon: './loft' } }, pigeons);
    expect(parse(text).sinks).toEqual({ birds: { type: 'pigeon', loft: './loft' } });
    expect(faultsOf(text, env, pigeons)).toEqual([]);
  });

  test.each(['hubspot', 'pipedrive', 'salesforce'])('calls a %s sink crm, without the past', (type) => {
    const sinks = { [type]: '${CRM}' };
    const text = newConfig({ ...plain, sinks, region: 'NZ' }, sinkTypes);
    expect(parse(text).sinks).toMatchObject({ crm: { type, backfill: false, region: 'NZ' } });
    expect(parse(newConfig({ ...plain, sinks }, sinkTypes)).sinks.crm).not.toHaveProperty('region');
    expect(sinksToSetUp(text, sinkTypes)).toEqual(['crm']);
  });

  test('gives no two sinks the same name', () => {
    const { sinks } = parse(newConfig(all, sinkTypes));
    expect(Object.keys(sinks)).toHaveLength(sinkTypes.length);
    expect(sinksToSetUp(newConfig(all, sinkTypes), sinkTypes)).toEqual([
      'hubspot',
      'salesforce',
      'pipedrive',
    ]);
    expect(sinksToSetUp(exampleConfig(sinkTypes), sinkTypes)).toEqual([]);
  });

  test('names every variable that it needs, and none of those in its comments', () => {
    expect(variablesIn(newConfig(all, sinkTypes))).toEqual([
      'LEADS_CLIENT_ID',
      'LEADS_CLIENT_SECRET',
      'CRM_WEBHOOK_SECRET',
      'DATABASE_URL',
      'MYSQL_URL',
      'SLACK_WEBHOOK_URL',
      'SMTP_URL',
      'HUBSPOT_TOKEN',
      'SALESFORCE_DOMAIN',
      'SALESFORCE_CLIENT_ID',
      'SALESFORCE_CLIENT_SECRET',
      'PIPEDRIVE_DOMAIN',
      'PIPEDRIVE_TOKEN',
    ]);
    expect(variablesIn(exampleConfig(sinkTypes))).toEqual(['LEADS_CLIENT_ID', 'LEADS_CLIENT_SECRET']);
  });

  test('has the folder that was asked for, whatever its name is made of', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1, unit: 'binary' }), (name) => {
        const folder = `/${name.replaceAll('\0', '').replaceAll('${', '').toWellFormed()}x`;
        const config = parseConfig(newConfig({ ...plain, sinks: { csv: folder } }, sinkTypes), '/f', {
          sinkTypes,
          env,
        });
        const [sink] = config.sinks;
        expect(sink?.options['directory']).toBe(resolve(folder));
      }),
      { examples: [[`line\n${'\u0001'.repeat(20)}`]] },
    );
  });

  test.each(['1e3', '0x1f', 'null', 'yes', '12', '~', 'a: b', '- a', 'a #b', '*a', '&a', "it's", '"'])(
    'takes %s for the name of a folder, and for nothing else of YAML',
    (folder) => {
      const text = newConfig({ ...plain, sinks: { csv: folder } }, sinkTypes);
      expect(parse(text).sinks.drop.directory).toBe(folder);
    },
  );
});

import { describe, expect, test } from 'vitest';
import { placeOf } from '../../../src/config/changes/compare-configs.ts';
import { parseConfig } from '../../../src/config/load-config.ts';
import { sinkTypes } from '../../../src/sinks/registry.ts';
import { faultsOf, SOURCE } from '../../config/reading.ts';

/** What a sink's entry is with these options: `type` is on line 8. */
const entry = (type: string, options: string) =>
  `${SOURCE}sinks:\n  drop:\n    type: ${type}\n${options.replaceAll(/^/gm, '    ')}\n`;

describe.each(['csv', 'parquet'])('the place of a %s sink', (type) => {
  test.each([
    ['directory: ./drop', 'csv /etc/leadsync/drop'],
    ['to: s3://acme-leads', 'csv s3://acme-leads'],
    [
      'to: s3://acme-leads/a/b=c/\nendpoint: http://127.0.0.1:9000\nbucket_region: auto\npath_style: true',
      'csv s3://acme-leads/a/b=c/ http://127.0.0.1:9000',
    ],
    [
      'to: s3://Acme_leads.old/x\naccess_key_id: a\nsecret_access_key: b\nsession_token: c\nchecksums: false',
      'csv s3://Acme_leads.old/x',
    ],
  ])('is %j', (options, place) => {
    const { sinks } = parseConfig(entry(type, options), '/etc/leadsync/leadsync.yaml', {
      sinkTypes,
      env: {},
    });
    expect(sinks.map(placeOf)).toEqual([place.replace('csv', type)]);
  });

  test.each([
    [
      'enabled: true',
      '8:5: sinks.drop: has no place for its files: set `directory: ./drop`, or `to: s3://BUCKET/FOLDER`',
    ],
    [
      'directory: ./drop\nto: s3://acme-leads',
      '10:9: sinks.drop.to: cannot be combined with `directory`: keep one of the two',
    ],
    [
      'directory: ./drop\nbucket_region: eu-central-1',
      '10:20: sinks.drop.bucket_region: has no effect without `to`: remove it',
    ],
    [
      'directory: ./drop\nchecksums: false',
      '10:16: sinks.drop.checksums: has no effect without `to`: remove it',
    ],
    [
      'directory: ./drop\nsecret_access_key: canary',
      '10:24: sinks.drop.secret_access_key: has no effect without `to`: remove it',
    ],
    [
      'to: s3://acme-leads\naccess_key_id: canary',
      '8:5: sinks.drop: has only one of `access_key_id` and `secret_access_key`: set both, or neither',
    ],
    [
      'directory: s3://acme-leads/x',
      '9:16: sinks.drop.directory: is the address of a bucket: write it under `to` instead',
    ],
    [
      'to: s3://acme-leads\nendpoint: https://canary:canary@minio.example.com',
      '10:15: sinks.drop.endpoint: must be an address such as https://minio.example.com, without a user or password',
    ],
    ['to: s3://acme-leads\nbucket: x', '10:5: sinks.drop: unknown key "bucket"'],
  ])('cannot be %j', (options, fault) => {
    const faults = faultsOf(entry(type, options), {}, sinkTypes);
    expect(faults).toHaveLength(1);
    expect(faults[0]).toContain(fault);
    expect(faults.join()).not.toContain('canary');
  });

  test.each([
    './drop',
    's3:/acme-leads',
    's3://',
    's3://ab',
    's3://canary:canary@acme-leads/x',
    's3://acme-leads/../x',
    's3://acme-leads/./x',
    's3://acme-leads//x',
    's3://acme-leads/x?region=canary',
    's3://acme-leads/a b',
    'https://acme-leads.s3.amazonaws.com/x',
  ])('cannot be the address %j', (to) => {
    const faults = faultsOf(entry(type, `to: "${to}"`), {}, sinkTypes);
    expect(faults).toHaveLength(1);
    expect(faults[0]).toContain('sinks.drop.to: must be an address such as s3://acme-leads/leadsync');
    expect(faults.join()).not.toContain('canary');
  });
});

import { expect, test } from 'vitest';
import { configFingerprint } from '../../src/config/config-fingerprint.ts';

const value = (path: string, value: string, origin = 'default') => ({ path, value, origin });
const ONE = [value('sinks.crm.url', 'https://crm.example.com'), value('sinks.crm.timeout', '10s')];

test('the order and the origin of values do not change the fingerprint, and neither do options of a machine', () => {
  const same = [
    value('data_dir', '/srv/a'),
    value('admin.listen', '10.0.0.1:9464'),
    value('admin.hosts', '[a-1]'),
    value('log.level', 'debug'),
    value('sinks.crm.timeout', '10s', 'leadsync.yaml:3'),
    value('sinks.crm.url', 'https://crm.example.com', 'environment CRM_URL'),
  ];
  expect(configFingerprint(same)).toBe(configFingerprint(ONE));
});

test('any other value changes it', () => {
  const others = [
    [...ONE.slice(1), value('sinks.crm.url', 'https://other.example.com')],
    [...ONE, value('admin.public_url', 'https://leadsync.example.com')],
    ONE.slice(1),
  ];
  const prints = [ONE, ...others].map(configFingerprint);
  expect(new Set(prints).size).toBe(prints.length);
  expect(prints[0]).toMatch(/^[0-9a-f]{12}$/);
});

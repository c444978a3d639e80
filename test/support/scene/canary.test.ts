import { expect, test } from 'vitest';
import { canaryLead, canarySecret, expectNoCanary } from './canary.ts';

const found = /shows a lead's text or a secret/;

test('the canary check finds every text of a canary lead', () => {
  const texts: string[] = [];
  JSON.parse(canaryLead(7), (_key, value: unknown) => {
    if (typeof value === 'string') texts.push(value);
    return value;
  });
  const notPersonal = ['2026-11-20T09:59:30.000Z'];
  expect(texts.length).toBeGreaterThan(9);
  for (const text of texts) {
    if (!notPersonal.includes(text)) expect(() => expectNoCanary(`…${text}…`), text).toThrow(found);
  }
});

test.each(['', 'a', 'ab', 'abc'])(
  'the canary check finds a canary in Base64 that starts with "%s"',
  (before) => {
    const secret = Buffer.from(`${before}${canarySecret('client_secret')}:x`).toString('base64');
    expect(() => expectNoCanary(`Basic ${secret}`)).toThrow(found);
  },
);

test('the canary check finds a canary in capitals, in JSON and in a URL', () => {
  expect(() => expectNoCanary(canarySecret('x').toUpperCase())).toThrow(found);
  expect(() => expectNoCanary(JSON.stringify(canaryLead(1)))).toThrow(found);
  expect(() => expectNoCanary(encodeURIComponent(canarySecret('x')))).toThrow(found);
});

test('text that names a lead by its id alone passes the canary check', () => {
  expectNoCanary('{"event":"delivery-dead","source":"main","lead":"42","sink":"crm"}');
});

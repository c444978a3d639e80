import { expect, test } from 'vitest';
import { canaryLead, canarySecret, expectNoCanary } from './canary.ts';

const found = /shows a lead's text or a secret/;

test('every text of a canary lead is found', () => {
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

test.each(['', 'a', 'ab', 'abc'])('a canary is found inside Base64 after "%s"', (before) => {
  const secret = Buffer.from(`${before}${canarySecret('client_secret')}:x`).toString('base64');
  expect(() => expectNoCanary(`Basic ${secret}`)).toThrow(found);
});

test('a canary is found in capitals, in JSON and in an address', () => {
  expect(() => expectNoCanary(canarySecret('x').toUpperCase())).toThrow(found);
  expect(() => expectNoCanary(JSON.stringify(canaryLead(1)))).toThrow(found);
  expect(() => expectNoCanary(encodeURIComponent(canarySecret('x')))).toThrow(found);
});

test('what names a lead by its id alone passes', () => {
  expectNoCanary('{"event":"delivery-dead","source":"main","lead":"42","sink":"crm"}');
});

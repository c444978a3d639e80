import { hash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { readLead } from '../../src/leads/lead.ts';
import type { ListedItem } from '../../src/leads/listed-lead.ts';
import { isDateTime } from '../../src/source/listing/lead-shape.ts';
import { listedElement } from '../../src/source/listing/listed-element.ts';
import { Splitter } from '../../src/source/listing/splitter.ts';
import { brokenLeads, unusualLeads } from '../stub/odd-leads.ts';
import { aLead } from '../support/scene/a-lead.ts';

test('a lead is kept as it was written, with the hash of its bytes', () => {
  const raw = aLead({ id: 42, client_name: 'Zoë 🏡' });
  expect(item(raw)).toEqual({
    kind: 'lead',
    position: 3,
    id: 42n,
    raw,
    hash: hash('sha256', Buffer.from(raw)).slice(0, 32),
    facts: {
      serviceSlug: 'house-cleaning',
      createdAtMs: Date.UTC(2026, 10, 20, 9, 59, 30),
      readable: null,
      safeRaw: null,
    },
  });
});

test.each(unusualLeads())('$what: a lead, and no part of it changes', ({ text }) => {
  expect(item(text)).toMatchObject({ kind: 'lead', raw: text.trim() });
});

test.each(brokenLeads())('$what: rejected with its text', ({ text }) => {
  const set = item(text);
  expect(set).toMatchObject({ kind: 'rejected', raw: text, position: 3 });
  expect(set.kind === 'rejected' && set.reason).not.toBe('');
});

describe('the id of a lead', () => {
  test.each([
    ['1', 1n],
    ['999999999999999', 999999999999999n],
    ['9007199254740993', 9007199254740993n],
    ['9223372036854775807', 9223372036854775807n],
  ])('%s is exact', (written, id) => {
    const raw = aLead().replace('"id":42', `"id":${written}`);
    expect(item(raw)).toMatchObject({ kind: 'lead', id });
    expect(readLead(raw).id).toBe(id);
  });

  test.each([
    ['9223372036854775808', 'must be from 1 to 9223372036854775807'],
    ['123456789012345678901234567890', 'must be from 1 to 9223372036854775807'],
    ['0', 'must be from 1 to 9223372036854775807'],
    ['-1', 'must be a positive integer written in digits'],
    ['-0', 'must be a positive integer written in digits'],
    ['1.0', 'must be a positive integer written in digits'],
    ['1e3', 'must be a positive integer written in digits'],
    ['1.5', 'must be a positive integer written in digits'],
    ['"42"', 'must be an integer, but is text'],
    ['null', 'must be an integer, but is null'],
    ['true', 'must be an integer, but is true or false'],
    ['[42]', 'must be an integer, but is an array'],
    ['{"id":42}', 'must be an integer, but is an object'],
  ])('%s is refused', (written, reason) => {
    const raw = aLead().replace('"id":42', `"id":${written}`);
    expect(item(raw)).toMatchObject({ kind: 'rejected', id: undefined, path: 'id', reason });
  });

  test("an id nested in the lead is not taken for the lead's own, before or after it", () => {
    const inside = '"budget":{"id":7},"tags":[{"id":9007199254740995}]';
    const large = aLead({ id: 9007199254740993n });
    for (const raw of [`{${inside},${large.slice(1)}`, `${large.slice(0, -1)},${inside}}`]) {
      expect(item(raw)).toMatchObject({ kind: 'lead', id: 9007199254740993n });
      expect(readLead(raw).id).toBe(9007199254740993n);
    }
    const without = aLead().replace('"id":42,', '');
    expect(item(`{${inside},${without.slice(1)}`)).toMatchObject({
      kind: 'rejected',
      path: 'id',
      reason: 'is missing',
    });
  });

  test('a readable id of a rejected lead is reported', () => {
    expect(item(aLead({ id: 77, client_name: null }))).toMatchObject({ kind: 'rejected', id: 77n });
  });
});

test.each([
  [{ client_name: undefined }, 'client_name', 'is missing'],
  [{ client_email: 5 }, 'client_email', 'must be text, but is a number'],
  [{ client_address: 'Footscray' }, 'client_address', 'must be an object or null, but is text'],
  [{ client_address: undefined }, 'client_address', 'is missing'],
  [{ client_address: {} }, 'client_address.friendly_address', 'is missing'],
  [{ service_question_answers: null }, 'service_question_answers', 'must be an array, but is null'],
  [{ service_question_answers: ['x'] }, 'service_question_answers[0]', 'must be an object, but is text'],
  [
    {
      service_question_answers: [
        { question: 'q', slug: 's', answer: 'a' },
        { question: 'q', answer: 'a' },
      ],
    },
    'service_question_answers[1].slug',
    'is missing',
  ],
  [{ created_at: 'yesterday' }, 'created_at', 'is not an ISO 8601 date-time'],
])('a lead with %j is rejected with the position and the reason', (fields, path, reason) => {
  expect(item(aLead(fields))).toMatchObject({ kind: 'rejected', id: 42n, path, reason });
});

test.each(['7', '"Anna"', 'null', 'false', '[]', '[{"id":1}]'])(
  '%s is not a lead, and does not affect its neighbours',
  (text) => {
    expect(item(text)).toMatchObject({ kind: 'rejected', id: undefined, raw: text, path: '' });
  },
);

test('an invalid email address or phone number does not cause a rejection', () => {
  expect(item(aLead({ client_email: 'anna at example', client_phone_number: 'ask my sister' })).kind).toBe(
    'lead',
  );
});

test('no reason repeats any part of the lead', () => {
  const canary = 'Canary Müller';
  const broken = [
    { client_name: [canary] },
    { created_at: canary },
    { client_address: { friendly_address: { [canary]: canary } } },
    { [canary]: canary, client_email: null },
    { service_question_answers: [{ [canary]: canary }] },
  ];
  for (const fields of broken) {
    const { kind, ...rest } = item(aLead(fields));
    expect(kind).toBe('rejected');
    expect(JSON.stringify({ ...rest, id: undefined, raw: undefined })).not.toContain('Canary');
  }
});

test.each([
  '2026-11-20T09:59:30Z',
  '2026-11-20T09:59:30.123456789Z',
  '2026-11-20T09:59:30+00:00',
  '2026-11-20T09:59:30+10:30',
  '2026-11-20T09:59:30-0330',
  '2026-11-20T09:59:30+05',
  '2026-11-20T09:59:30+23:59',
  '2026-11-20 09:59:30Z',
  '2026-11-20t09:59:30z',
  '2026-11-20T09:59Z',
  '2026-11-20T09:59:30',
  '2024-02-29T00:00:00Z',
  '2016-12-31T23:59:60Z',
])('%s is a date-time', (text) => {
  expect(isDateTime(text)).toBe(true);
});

test.each([
  '',
  '2026-11-20',
  '09:59:30Z',
  '1795168770',
  'Fri, 20 Nov 2026 09:59:30 GMT',
  '2026-13-01T00:00:00Z',
  '2026-00-01T00:00:00Z',
  '2026-02-30T00:00:00Z',
  '2025-02-29T00:00:00Z',
  '2026-11-00T00:00:00Z',
  '2026-11-20T24:00:00Z',
  '2026-11-20T09:60:00Z',
  '2026-11-20T09:59:30+1:00',
  '2026-11-20T09:59:30+24:00',
  '2026-11-20T09:59:30Z and more',
  '\n2026-11-20T09:59:30Z',
])('%j is not a date-time', (text) => {
  expect(isDateTime(text)).toBe(false);
});

function item(text: string): ListedItem {
  const splitter = new Splitter(1024 * 1024);
  const [element] = splitter.push(Buffer.from(`[${text}]`));
  return listedElement(element ?? expect.fail('there is no element'), 3).read();
}

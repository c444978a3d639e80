import { describe, expect, test } from 'vitest';
import { contactMatcher, contactOf } from '../../src/leads/find-contact.ts';

const ADA = { name: 'Zoë O’Néill-Kraus', email: 'Zoe.Kraus@Example.com', phone: '+44 (0)20 7946 0018' };

describe('a contact is found by', () => {
  test.each([
    'Zoë',
    'zoe',
    'ZOE KRAUS',
    'kraus zoë',
    'o’neill',
    'zo\u0065\u0308',
    '@example.com',
    'zoe.kraus@example.com',
    'kraus@',
    '0018',
    '020 7946 0018',
    '+44 20 7946 0018',
    '+44 (0)20 79460018',
    '0044 20 7946',
    '7946-0018',
  ])('%s', (text) => {
    expect(contactMatcher(text)?.(ADA)).toBe(true);
  });

  test.each(['zoe smith', 'krauss', '0019', '+49 20 7946 0018', '18', 'example.org', '2079460018 kraus'])(
    'not by %s',
    (text) => {
      expect(contactMatcher(text)?.(ADA)).toBe(false);
    },
  );

  test.each(['', ' ', 'z', ' ë '])('a text that is too short to search for: "%s"', (text) => {
    expect(contactMatcher(text)).toBeUndefined();
  });

  test('no word of a contact without texts', () => {
    expect(contactMatcher('null')?.({ name: null, email: null, phone: null })).toBe(false);
    expect(contactMatcher('0018')?.({ name: null, email: null, phone: null })).toBe(false);
  });

  test('digits in the email address, too', () => {
    expect(contactMatcher('1987')?.({ ...ADA, email: 'zoe1987@example.com', phone: null })).toBe(true);
  });
});

test.each([
  [
    '{"id":1,"client_name":"Ada","client_email":" ","client_phone_number":44}',
    { name: 'Ada', email: null, phone: null },
  ],
  ['{"client_name":"\\u005a\\u006f\\u00eb"}', { name: 'Zoë', email: null, phone: null }],
  ['null', { name: null, email: null, phone: null }],
  ['', undefined],
  ['{"client_name":', undefined],
])('the contact in %s', (raw, contact) => {
  expect(contactOf(raw)).toEqual(contact);
});

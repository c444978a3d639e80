import { expect, test } from 'vitest';
import { personName } from '../../src/mapping/functions/person-name.ts';
import { phoneOf } from '../../src/mapping/functions/phone.ts';
import { isLike } from '../../src/mapping/functions/text-pattern.ts';
import { zonedDate } from '../../src/mapping/functions/zoned-date.ts';

test.each([
  ['0412 345 678', 'AU', '+61412345678'],
  ['+61 (0)412 345 678', 'AU', '+61412345678'],
  ['(03) 9876 5432', 'AU', '+61398765432'],
  ['0061412345678', 'AU', '+61412345678'],
  ['٠٤١٢ ٣٤٥ ٦٧٨', 'AU', '+61412345678'],
  ['call me on 0412345678', 'AU', '+61412345678'],
  ['030 901820', 'DE', '+4930901820'],
  ['+1 202 555 0123', undefined, '+12025550123'],
  ['0412 345 678', undefined, null],
  ['12345', 'AU', null],
  ['ring me', 'AU', null],
  ['', 'AU', null],
])('the phone number in %j, in %s, is %s', (text, region, number) => {
  expect(phoneOf(text, region)).toBe(number);
});

test.each([
  ['Ana María de la Cruz', 'Ana María', 'de la Cruz'],
  ['Jane Citizen', 'Jane', 'Citizen'],
  ['  Jane   Q.  Citizen ', 'Jane Q.', 'Citizen'],
  ['Cher', '', 'Cher'],
  ['Citizen, Jane', 'Jane', 'Citizen'],
  ['Vincent van Gogh', 'Vincent', 'van Gogh'],
  ['Ben Smith', 'Ben', 'Smith'],
  ['van Gogh', 'van', 'Gogh'],
  ["Sinéad O' Connor", 'Sinéad', "O' Connor"],
  ['王小明', '', '王小明'],
  ['김민수', '', '김민수'],
  ['Dr. Eva Klein', 'Dr. Eva', 'Klein'],
  ['', '', ''],
  [',', '', ','],
])('%j has the first name %j and the last name %j', (text, first, last) => {
  expect(personName(text)).toMatchObject({ first, last });
});

test('no part of a name is lost', () => {
  const words = ['de', 'la', 'Ana', 'van', "O'", '王', 'X', 'Ben', 'mac'];
  for (const one of words)
    for (const two of words)
      for (const three of words) {
        const text = `${one} ${two} ${three}`;
        const { first, last, full } = personName(text);
        expect(`${first} ${last}`.trim()).toBe(text);
        expect(full).toBe(text);
      }
});

test.each([
  ['Australia/Sydney', undefined, '2026-01-05'],
  ['Australia/Sydney', 'dd/MM/yyyy HH:mm', '05/01/2026 01:04'],
  ['Europe/Berlin', 'EEE d.M. H:mm:ss', 'Sun 4.1. 15:04:05'],
  ['UTC', 'EEEE, d MMMM yyyy', 'Sunday, 4 January 2026'],
  ['UTC', 'MMM', 'Jan'],
])('a time in %s as %s is %s', (zone, format, text) => {
  expect(zonedDate(new Date('2026-01-04T14:04:05Z'), zone, format)).toBe(text);
});

test('midnight is 00, and a year has four digits', () => {
  expect(zonedDate(new Date('0987-06-05T00:00:00Z'), 'UTC', 'yyyy-MM-dd HH')).toBe('0987-06-05 00');
});

test('a pattern that makes other engines hang takes linear time', () => {
  const startedAt = process.hrtime.bigint();
  expect(isLike(`${'a'.repeat(100_000)}!`, '^(a+)+$')).toBe(false);
  // A backtracking engine would not end within the age of the universe, so any limit shows the difference.
  expect(Number(process.hrtime.bigint() - startedAt) / 1e9).toBeLessThan(60);
  expect(isLike('12 Harbour Street, 2042', '\\b[0-9]{4}$')).toBe(true);
});

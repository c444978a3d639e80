import type { VNode } from 'preact';
import { renderToString } from 'preact-render-to-string';
import { expect, test } from 'vitest';
import { indented, rawText } from '../../../src/admin/pages/parts/raw-text.ts';

test.each([
  ['{"a":1,"b":[true,null]}', '{\n  "a": 1,\n  "b": [\n    true,\n    null\n  ]\n}'],
  ['{"a":{},"b":[ ],"c":"{,}:[\\"]"}', '{\n  "a": {},\n  "b": [ ],\n  "c": "{,}:[\\"]"\n}'],
  ['{ "id" : 9007199254740993 , "id":1.50e2 }', '{\n  "id": 9007199254740993,\n  "id": 1.50e2\n}'],
  ['"only a text"', '"only a text"'],
  ['no agent for {"a":1}', 'no agent for {"a":1}'],
  ['', ''],
])('of %s only the spaces change', (text, expected) => {
  expect(indented(text)).toBe(expected);
});

test('a JSON text of many levels does not become mostly spaces', () => {
  const deep = '['.repeat(2_000) + ']'.repeat(2_000);
  expect(indented(deep).length).toBeLessThan(4_000 * 43);
});

test('of a text of megabytes the page has the beginning, and says how long it is', () => {
  const html = renderToString([rawText(`{"a":"${'x'.repeat(3_000_000)}"}`)] as unknown as VNode);
  expect(html.length).toBeLessThan(101_000);
  expect(html).toContain('The first 100,000 of 3,000,008 characters. The API returns all.');
});

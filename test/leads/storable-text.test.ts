import { describe, expect, it } from 'vitest';
import { safeRaw } from '../../src/leads/storable-text.ts';

describe('the JSON text for databases', () => {
  it.each([
    [String.raw`{"a":"\u0000\u0000"}`, String.raw`{"a":"\ufffd\ufffd"}`],
    [String.raw`{"a\u0000":1.50}`, String.raw`{"a\ufffd":1.50}`],
    [String.raw`{"a":"\ud83d\ude00\ud83d\uDE00"}`, null],
    [String.raw`{"a":"\uD83D\ud83d\ude00\ude00"}`, String.raw`{"a":"\ufffd\ud83d\ude00\ufffd"}`],
    [String.raw`{"a":"\\u0000\\\\ud800"}`, null],
    [String.raw`{"a":"\\\u0000\"\n\ud800x"}`, String.raw`{"a":"\\\ufffd\"\n\ufffdx"}`],
    [String.raw`{"a":"\u0041 \ufffd"}`, null],
  ])('%s is kept as %s', (raw, safe) => {
    expect(safeRaw(raw)).toBe(safe);
    expect(JSON.parse(safe ?? raw)).toEqual(JSON.parse(raw, wellFormed));
  });

  it('is made of ten megabytes of NUL, or of quotes, as well', () => {
    const size = 1_700_000;
    expect(safeRaw(`"${'\\u0000'.repeat(size)}"`)).toBe(`"${'\\ufffd'.repeat(size)}"`);
    expect(safeRaw(`"${'\\"'.repeat(size)}\\ud800"`)).toBe(`"${'\\"'.repeat(size)}\\ufffd"`);
  });
});

function wellFormed(_key: string, value: unknown): unknown {
  if (typeof value === 'string') return value.replaceAll('\0', '\ufffd').toWellFormed();
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [wellFormed('', key), one]));
}

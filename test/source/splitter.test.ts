import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { ListedItem } from '../../src/leads/listed-lead.ts';
import { SourceError } from '../../src/source/contract/source.ts';
import { listedElement } from '../../src/source/listing/listed-element.ts';
import { Splitter } from '../../src/source/listing/splitter.ts';
import { aLead } from '../support/scene/a-lead.ts';

const LARGE = 1024 * 1024;

/** Any JSON text as a service could write it, with white space in odd places. */
const space = fc.constantFrom('', '', '', ' ', '\n', '\r\n\t ');
const element = fc.oneof(
  fc.json(),
  fc.jsonValue().map((value) => JSON.stringify(value, undefined, 2)),
  fc.string({ unit: 'binary' }).map((text) => JSON.stringify(text)),
  fc.constantFrom('{"a":"]}[{\\"\\\\"}', '"\\\\"', '[[],{},""]', '-1.5e+10', 'true', '{}', aLead()),
);
const array = fc
  .tuple(fc.array(fc.tuple(space, element, space)), space, space)
  .map(([elements, before, after]) => ({
    texts: elements.map(([, text]) => text),
    whole: `${before}[${elements.map((parts) => parts.join('')).join(',') || before}]${after}`,
  }));
const cuts = fc.array(fc.nat(), { maxLength: 20 });

test('the splitter returns the elements of any JSON array unchanged, however it is divided into chunks', () => {
  fc.assert(
    fc.property(array, cuts, fc.boolean(), ({ texts, whole }, places, withMark) => {
      const bytes = Buffer.from(withMark ? `\ufeff${whole}` : whole);
      expect(split(bytes, places)).toEqual(texts);
    }),
    { numRuns: 500 },
  );
});

test('the splitter does so byte by byte', () => {
  fc.assert(
    fc.property(array, ({ texts, whole }) => {
      const bytes = Buffer.from(whole);
      expect(split(bytes, [...bytes.keys()])).toEqual(texts);
    }),
  );
});

/** Arbitrary bytes, with an emphasis on those that matter to JSON. */
const byte = fc.oneof(
  fc.constantFrom(...Buffer.from('[]{},":\\ \n0-1e.tfnu')),
  fc.integer({ min: 0, max: 255 }),
);
const change = fc.record({
  at: fc.nat(),
  remove: fc.nat({ max: 3 }),
  insert: fc.array(byte, { maxLength: 3 }),
});

test('a listing with changed bytes is accepted exactly if it is still a JSON array in UTF-8', () => {
  fc.assert(
    fc.property(
      array,
      fc.array(change, { minLength: 1, maxLength: 3 }),
      cuts,
      ({ whole }, changes, places) => {
        let bytes = Buffer.from(whole);
        for (const { at, remove, insert } of changes) {
          const from = at % (bytes.length + 1);
          bytes = Buffer.concat([
            bytes.subarray(0, from),
            Buffer.from(insert),
            bytes.subarray(from + remove),
          ]);
        }
        expect(elementsOrNone(bytes, places)).toBe(lengthByJsonParse(bytes));
      },
    ),
    { numRuns: 3_000 },
  );
});

test.each([
  '[{},,{}]',
  '[{} {}]',
  '[{}],',
  '[{}]]',
  '[,{}]',
  '[{},]',
  '[,]',
  '[',
  '',
  ' ',
  '[{}',
  '[{},',
  '[{"a":1]',
  '[{a:1}]',
  '[{"a":[}]}]',
  '[1 2]',
  '["a""b"]',
  '[tru]',
  '[01]',
  '["\n"]',
  '["\\x"]',
  '[}]',
  '{"leads":[]}',
  'null',
  '"[]"',
  '<html></html>',
  ' \ufeff[]',
  '\ufeff\ufeff[]',
  '[\ufeff{}]',
  '[]\u0000',
  '[\u00a0]',
  '[{}]\n<!-- served in 12 ms -->',
])('%j is refused as a listing', (text) => {
  expect(() => split(Buffer.from(text), [])).toThrow(SourceError);
});

test('bytes that are not UTF-8 are refused, wherever they are', () => {
  for (const bad of [[0xff], [0xc3], [0xed, 0xa0, 0x80], [0xc0, 0xaf], [0xef, 0xbb]]) {
    const mark = Buffer.from(bad);
    expect(() => split(Buffer.concat([Buffer.from('[{"a":"'), mark, Buffer.from('"}]')]), [])).toThrow(
      'not valid UTF-8',
    );
    expect(() => split(Buffer.concat([mark, Buffer.from('[]')]), [])).toThrow(SourceError);
    expect(() => split(Buffer.concat([Buffer.from('[]'), mark]), [])).toThrow(SourceError);
  }
});

test('an escaped half of a surrogate pair is valid JSON and is accepted', () => {
  expect(split(Buffer.from('[{"a":"\\ud800"}]'), [])).toEqual(['{"a":"\\ud800"}']);
});

test('an error names the position, and contains no text of the lead', () => {
  const secret = 'Anna Müller';
  const messages = [
    `[${aLead()},{"client_name":"${secret}",}]`,
    `[{"client_name":"${secret}"}{}]`,
    `[{},{"client_name":"${secret}`,
  ].map((text) => messageOf(Buffer.from(text)));
  expect(messages).toEqual([
    'Element 2 is not valid JSON.',
    'The listing has two elements without a comma between them (after element 1).',
    'The listing breaks off inside element 2.',
  ]);
});

test('an oversize element is skipped, with its beginning, its size and its hash', () => {
  const large = JSON.stringify({ id: 7, text: 'ä'.repeat(100_000) });
  const bytes = Buffer.from(`[{"id":1},${large} ,{"id":2}]`);
  for (const places of [[], [20, 21, 30_000], [...Array(500).keys()].map((n) => n * 401)]) {
    const splitter = new Splitter(1024);
    const elements = chunksOf(bytes, places).flatMap((chunk) => [...splitter.push(chunk)].map(copied));
    splitter.end();
    expect(elements.map(({ kind }) => kind)).toEqual(['whole', 'oversize', 'whole']);
    expect(elements[1]).toMatchObject({ size: Buffer.byteLength(large) });
    const item = listedElement(elements[1] ?? expect.fail(), 1).read();
    expect(item).toMatchObject({ kind: 'rejected', id: 7n, position: 1, path: '' });
    expect(large.startsWith(item.raw)).toBe(true);
    expect(Buffer.byteLength(item.raw)).toBeGreaterThan(65_530);
  }
});

test('an element of any size is held only up to the limit', () => {
  const splitter = new Splitter(1024 * 1024);
  const part = Buffer.alloc(1024 * 1024, 'x');
  expect([...splitter.push(Buffer.from('["'))]).toEqual([]);
  const before = process.memoryUsage().arrayBuffers;
  for (let megabytes = 0; megabytes < 200; megabytes++) expect([...splitter.push(part)]).toEqual([]);
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(20 * 1024 * 1024);
  expect([...splitter.push(Buffer.from('"]'))]).toMatchObject([
    { kind: 'oversize', size: 200 * 1024 * 1024 + 2 },
  ]);
});

test('a listing with endless nesting causes no crash and does not affect the others', () => {
  const deep = `{"id":5,"x":${'['.repeat(200_000)}${']'.repeat(200_000)}}`;
  const splitter = new Splitter(LARGE);
  const items = [...splitter.push(Buffer.from(`[${deep},${aLead({ id: 6 })}]`))].map((one, at) =>
    listedElement(one, at).read(),
  );
  expect(items).toMatchObject([
    { kind: 'rejected', id: 5n, reason: 'is nested 200001 levels deep; the limit is 100' },
    { kind: 'lead', id: 6n },
  ]);
});

function split(bytes: Buffer, places: readonly number[]): string[] {
  const splitter = new Splitter(LARGE);
  const texts: string[] = [];
  for (const chunk of chunksOf(bytes, places)) {
    for (const piece of splitter.push(chunk)) texts.push(textOf(listedElement(piece, texts.length).read()));
  }
  splitter.end();
  return texts;
}

/** Returns an item's text. Also refuses an element that is rejected alone because it is not JSON. */
function textOf(item: ListedItem): string {
  if (item.kind === 'rejected' && /^is not valid (JSON|UTF-8)$/.test(item.reason))
    throw new SourceError('protocol', `Element ${item.position + 1} ${item.reason}.`, { hint: '' });
  return item.raw;
}

/** Returns the number of elements in the listing, or -1 if it is refused. */
function elementsOrNone(bytes: Buffer, places: readonly number[]): number {
  try {
    return split(bytes, places).length;
  } catch (error) {
    if (error instanceof SourceError) return -1;
    throw error;
  }
}

function lengthByJsonParse(bytes: Buffer): number {
  try {
    const value: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
    return Array.isArray(value) ? value.length : -1;
  } catch {
    return -1; // a refusal is the result under test
  }
}

function messageOf(bytes: Buffer): string {
  try {
    split(bytes, []);
  } catch (error) {
    if (error instanceof SourceError) return error.message;
    throw error;
  }
  return 'accepted';
}

function chunksOf(bytes: Buffer, places: readonly number[]): Buffer[] {
  const ends = [...new Set(places.map((place) => place % (bytes.length + 1)))].sort((a, b) => a - b);
  const starts = [0, ...ends];
  return starts.map((start, index) => bytes.subarray(start, ends[index] ?? bytes.length));
}

/** Copies an element's bytes, which are only valid during the call. */
function copied<Piece extends object>(piece: Piece): Piece {
  return 'bytes' in piece && Buffer.isBuffer(piece.bytes)
    ? { ...piece, bytes: Buffer.from(piece.bytes) }
    : piece;
}

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ListedItem } from '../../src/leads/listed-lead.ts';
import { SequenceReader } from '../../src/source/listing/block-sequence.ts';
import { Blocks } from '../../src/source/listing/blocks.ts';
import { naughtyStrings } from '../hostile/corpora.ts';
import { aLead } from '../support/scene/a-lead.ts';

interface Read {
  readonly items: readonly ListedItem[];
  /** Why the listing could not be read to its end. */
  readonly error: unknown;
}

/** @param places where the body is divided into the chunks in which it arrives */
function read(body: Buffer, places: readonly number[] = [], maxLeadSize = 200_000): Read {
  const blocks = new Blocks(new SequenceReader(new Map()), maxLeadSize, 0);
  const items: ListedItem[] = [];
  const take = (some: Iterable<{ elements(): readonly { read(): ListedItem }[] }>) => {
    for (const block of some)
      for (const element of block.elements()) {
        isReading = true;
        items.push(element.read());
        isReading = false;
      }
  };
  let isReading = false;
  // As any reader of a listing does: what came before a structural fault is valid.
  const takeRest = () => {
    try {
      take(blocks.flush());
    } catch {
      // The listing ended with the first error.
    }
  };
  try {
    for (const part of partsOf(body, places)) take(blocks.push(part));
    take(blocks.end());
  } catch (error) {
    if (!isReading) takeRest();
    return { items, error };
  }
  return { items, error: undefined };
}

function partsOf(body: Buffer, places: readonly number[]): Buffer[] {
  const ends = [...places.map((place) => place % body.length), body.length].sort((a, b) => a - b);
  return ends.map((end, at) => body.subarray(ends[at - 1] ?? 0, end));
}

function bodyOf(elements: readonly (string | Buffer)[], between = ','): Buffer {
  const parts = elements.flatMap((element, at) => [
    Buffer.from(at === 0 ? '' : between),
    Buffer.from(element),
  ]);
  return Buffer.concat([Buffer.from('['), ...parts, Buffer.from(']')]);
}

const first = aLead({ id: 1 });
const last = aLead({ id: 3 });

describe('an element that is not JSON in UTF-8 is rejected alone', () => {
  test.each([
    ['a byte that is not UTF-8', Buffer.from('{"id":2,"client_name":"Zo\xeb"}', 'latin1'), 'UTF-8'],
    [
      'a truncated character before a quote',
      Buffer.from('{"id":2,"client_name":"\xe2\x82"}', 'latin1'),
      'UTF-8',
    ],
    ['both', Buffer.from('{"id":2,"client_name":"Zo\xeb",}', 'latin1'), 'UTF-8'],
    ['a trailing comma', '{"id":2,"client_name":"Zoe",}', 'JSON'],
    ['a line feed in a string', '{"id":2,"client_name":"Zoe\nZ"}', 'JSON'],
    ['NUL in a string', '{"id":2,"client_name":"Zoe\0Z"}', 'JSON'],
    ['an invalid escape', '{"id":2,"client_name":"\\x41"}', 'JSON'],
    ['NaN', '{"id":2,"score":NaN}', 'JSON'],
    ['quotes in a string', '{"id":2,"client_name":"Zoe "Z" Doe"}', 'JSON'],
    ['no comma between two fields', '{"id":2,"score":1 "client_name":"Zoe"}', 'JSON'],
  ])('it is rejected with %s', (_, broken, what) => {
    const { items, error } = read(bodyOf([first, broken, last]));
    expect(error).toBeUndefined();
    expect(items).toMatchObject([
      { kind: 'lead', id: 1n },
      { kind: 'rejected', id: 2n, position: 1, reason: `is not valid ${what}`, path: '' },
      { kind: 'lead', id: 3n },
    ]);
    expect(items[1]?.raw).not.toContain('\0');
    expect(items[1]?.raw).toContain('"id":2');
  });

  test('it is rejected if it is not an object either', () => {
    const { items, error } = read(bodyOf([first, 'nil', '"\\x"', last]));
    expect(error).toBeUndefined();
    expect(items.map(({ kind }) => kind)).toEqual(['lead', 'rejected', 'rejected', 'lead']);
  });
});

describe('an element without a recognisable end ends the listing and accepts no other element as its own', () => {
  const braces = aLead({ id: 7, all_details_one_liner: 'a } , { b ]' });
  test.each([
    ['an unterminated string', ['{"id":2,"client_name":"Zoe}', last, braces, last]],
    ['two unterminated strings', ['{"id":2,"client_name":"Zoe}', last, '{"id":4,"client_name":"Max}', last]],
    [
      'a string without its opening quote',
      ['{"id":2,"client_name":Zoe"}', last, '{"id":4,"client_name":"Max}', last],
    ],
    ['a missing bracket, and an extra one', ['{"id":2,"a":{"b":1}', last, '{"id":4}}', last]],
    ['the wrong closing bracket', ['{"id":2,"a":[1}}', last]],
    ['an extra bracket', ['{"id":2}}', last]],
  ])('it does so with %s', (_, elements) => {
    for (const between of [',', ',\n  ', ' , ']) {
      const { items, error } = read(bodyOf([first, ...elements], between));
      expect(error).toMatchObject({ name: 'SourceError' });
      expect(items[0]).toMatchObject({ kind: 'lead', id: 1n });
      expect(items.slice(1).filter(({ kind }) => kind === 'lead')).toEqual([]);
    }
  });
});

describe('a span that two stray quotes join ends the listing even if it is not parsed', () => {
  // No escaped quote, so that nothing but the two stray quotes decides which text is in a string.
  const plain = (id: number, client_name: string) =>
    aLead({ id, client_name, service_question_answers: [], all_details_one_liner: '' });
  const stray = (id: number) => plain(id, 'Zoe').replace('"Zoe"', '"Zoe""');

  test.each([
    ['the joined text is nested too deeply', '['.repeat(101) + ']'.repeat(101), 200_000],
    ['the joined text is too large', 'Z'.repeat(3_000), 2_000],
  ])('%s', (_, name, maxLeadSize) => {
    const body = bodyOf([first, stray(2), plain(7, name), plain(8, 'Max'), stray(4), last]);
    for (const places of [[], Array.from({ length: 12 }, (_, at) => at * 397)]) {
      const { items, error } = read(body, places, maxLeadSize);
      expect(error).toMatchObject({ name: 'SourceError', code: 'protocol' });
      expect(items).toMatchObject([{ kind: 'lead', id: 1n }]);
    }
  });

  test.each([
    ['a lead that is nested too deeply', { tags: nested(150) }, 200_000],
    ['a lead that is too large', { client_name: 'a "b" {c} [d] \\\\ '.repeat(300) }, 2_000],
    ['a text that is too large', 'x'.repeat(3_000), 2_000],
  ])('%s is rejected alone', (_, lead, maxLeadSize) => {
    const element = typeof lead === 'string' ? JSON.stringify(lead) : aLead({ id: 2, ...lead });
    const { items, error } = read(bodyOf([first, element, last]), [1_000, 2_001], maxLeadSize);
    expect(error).toBeUndefined();
    expect(items.map(({ kind }) => kind)).toEqual(['lead', 'rejected', 'lead']);
  });
});

function nested(levels: number): unknown {
  return levels === 0 ? [] : [nested(levels - 1)];
}

test('an element that an extra quote ends early is not listed as the text before its end, wherever the body is divided', () => {
  const early = aLead({ id: 2, all_details_one_liner: '}' }).replace(/"\}$/, '').replace(/\}$/, '"}');
  for (const broken of [`${early}"}`, `${early} \n x`]) {
    const body = bodyOf([first, broken, last]);
    for (const place of body.keys()) {
      const { items, error } = read(body, [place]);
      expect(error).toMatchObject({ name: 'SourceError' });
      expect(items).toMatchObject([{ kind: 'lead', id: 1n }]);
    }
  }
});

/** Texts that people type, with everything that JSON consists of. */
const typed = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 12 }),
  fc.constantFrom('"', '\\', '},{', '}', '{', ']', '[', ',', '":', ...(naughtyStrings ?? [])),
  fc
    .array(fc.constantFrom('}', '{', ',', '"', ' ', ':', 'id', '1', '[', ']', '\\'), { maxLength: 8 })
    .map((parts) => parts.join('')),
  // More levels than a lead may have, and more bytes than the smallest size limit below.
  fc.constantFrom(`${'['.repeat(101)}${']'.repeat(101)}`, 'Z'.repeat(2_500)),
);
const leads = fc
  .array(typed, { minLength: 2, maxLength: 6 })
  .map((texts) =>
    texts.map((text, at) => aLead({ id: at + 1, client_name: text, all_details_one_liner: text })),
  );
const bytes = fc.oneof(
  fc.uint8Array({ minLength: 1, maxLength: 3 }),
  fc.constantFrom(...['"', '"}', '}', ',', '\\'].map((text) => Uint8Array.from(Buffer.from(text)))),
);
/** Whether the damaged bytes are this lead, or begin with it and what may follow an element: no reader can see a fault so far. */
function isIn(damaged: Buffer, raw: string): boolean {
  const text = damaged.toString().trim();
  return text === raw || (text.startsWith(raw) && /^[ \n\r\t]*[,\]]/.test(text.slice(raw.length)));
}
const cuts = fc.array(fc.nat(), { maxLength: 12 });
interface Damage {
  readonly which: number;
  readonly where: number;
  readonly removed: number;
  readonly added: Uint8Array;
}
const damages: fc.Arbitrary<Damage[]> = fc.array(
  fc.record({ which: fc.nat(), where: fc.nat(), removed: fc.nat({ max: 2 }), added: bytes }),
  { minLength: 1, maxLength: 3 },
);
function damage(whole: string, { where, removed, added }: Damage): Buffer {
  const bytes = Buffer.from(whole);
  const at = where % bytes.length;
  return Buffer.concat([bytes.subarray(0, at), added, bytes.subarray(at + removed)]);
}

test('whatever bytes are damaged in one to three elements, no false lead is listed, and a listing that ends has all the others', () => {
  fc.assert(
    fc.property(leads, damages, cuts, fc.constantFrom(2_000, 200_000), (texts, some, places, maxLeadSize) => {
      const broken = new Map(some.map((one) => [one.which % texts.length, one]));
      const elements = texts.map((text, at) => {
        const one = broken.get(at);
        return one ? damage(text, one) : Buffer.from(text);
      });
      const { items, error } = read(bodyOf(elements), places, maxLeadSize);
      const listed = items.filter(({ kind }) => kind === 'lead').map(({ raw }) => raw);
      const isSound = (raw: string, at: number) => !broken.has(at) && isListable(raw, maxLeadSize);
      const others = texts.filter(isSound);
      const isBroken = (raw: string) => elements.some((one, at) => broken.has(at) && isIn(one, raw));
      // Bytes that were added to two elements can together leave a lead as it was.
      expect(listed.filter((raw) => !texts.includes(raw) && !isBroken(raw))).toEqual([]);
      const before = texts.slice(0, Math.min(...broken.keys())).filter(isSound);
      expect(before.every((raw) => listed.includes(raw))).toBe(true);
      if (error === undefined) expect(others.every((raw) => listed.includes(raw))).toBe(true);
    }),
    { numRuns: 3_000 },
  );
});

function isListable(raw: string, maxLeadSize: number): boolean {
  return Buffer.byteLength(raw) <= maxLeadSize;
}

test('whatever bytes of one element become invalid UTF-8, all the others are listed', () => {
  const high = fc.integer({ min: 0x80, max: 0xff });
  fc.assert(
    fc.property(leads, fc.nat(), fc.nat(), high, (texts, which, where, byte) => {
      const broken = which % texts.length;
      const damaged = Buffer.from(texts[broken] ?? '');
      const name = damaged.indexOf('Footscray');
      damaged[name + (where % 6)] = byte;
      const elements = texts.map((text, index) => (index === broken ? damaged : text));
      const { items, error } = read(bodyOf(elements));
      expect(error).toBeUndefined();
      expect(items.map(({ kind }) => kind)).toEqual(
        texts.map((_, at) => (at === broken ? 'rejected' : 'lead')),
      );
    }),
  );
});

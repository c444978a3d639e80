import { hash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ListedBlock } from '../../src/leads/listed-lead.ts';
import { SourceError } from '../../src/source/contract/source.ts';
import { type BlockSequence, SequenceReader } from '../../src/source/listing/block-sequence.ts';
import { Blocks } from '../../src/source/listing/blocks.ts';
import { aLead } from '../support/scene/a-lead.ts';

const MAX_BYTES = 200_000;

interface Reading {
  readonly blocks: readonly ListedBlock[];
  readonly texts: readonly string[];
  readonly learned: BlockSequence;
  readonly error: unknown;
}

/** Reads a body in chunks of these sizes; a chunk of size 0 is a pause. */
function readBody(body: Buffer, sizes: readonly number[], last: BlockSequence = new Map()): Reading {
  const sequence = new SequenceReader(last);
  const reader = new Blocks(sequence, MAX_BYTES, 0);
  const blocks: ListedBlock[] = [];
  let error: unknown;
  try {
    for (let at = 0, turn = 0; at < body.length; turn += 1) {
      const size = sizes[turn % sizes.length] ?? 1;
      if (size === 0) blocks.push(...reader.flush());
      // Each chunk has its own buffer, as those of a connection do.
      else for (const block of reader.push(Buffer.from(body.subarray(at, at + size)))) blocks.push(block);
      at += size;
    }
    for (const block of reader.end()) blocks.push(block);
  } catch (thrown) {
    error = thrown;
    blocks.push(...reader.flush());
  }
  const texts = blocks.flatMap((block) => block.elements().map((element) => element.read().raw));
  return { blocks, texts, learned: sequence.learned, error };
}

const plain = [65_536];

function bodyOf(leads: readonly string[]): Buffer {
  return Buffer.from(`[${leads.join(',\n')}]`);
}

function leads(ids: readonly number[], version = 1): string[] {
  return ids.map((id) =>
    aLead({ id, client_name: `content ${version}`, all_details_one_liner: 'x'.repeat(300) }),
  );
}

function upTo(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index + 1);
}

describe('a listing in blocks', () => {
  const edit = fc.record({
    at: fc.nat(900),
    what: fc.constantFrom('insert', 'remove', 'change', 'swap') as fc.Arbitrary<
      'insert' | 'remove' | 'change' | 'swap'
    >,
  });
  const pause = fc.constant(0);
  const parts = fc
    .array(fc.oneof(fc.integer({ min: 1, max: 90_000 }), pause), { maxLength: 5 })
    .map((sizes) => [...sizes, 30_000]);

  test('the blocks contain every element, in order, whatever the last listing was and however it arrives', () => {
    const property = fc.property(fc.array(edit, { maxLength: 8 }), parts, parts, (edits, before, after) => {
      const old = leads(upTo(900));
      const now = [...old];
      for (const [index, { at, what }] of edits.entries()) {
        if (what === 'insert') now.splice(at, 0, ...leads([10_000 + index]));
        if (what === 'remove') now.splice(at, 1);
        if (what === 'change') now.splice(at, 1, ...leads([at + 1], 2 + index));
        if (what === 'swap') now.splice(at, 0, ...now.splice(at + 1, 1));
      }
      const first = readBody(bodyOf(old), before);
      expect(first.texts.join() === old.join()).toBe(true);
      const second = readBody(bodyOf(now), after, first.learned);
      expectOwnBytes(first, bodyOf(old));
      expectOwnBytes(second, bodyOf(now));
      expect(second.texts.join() === now.join()).toBe(true);
      // Equal hashes mean equal content: the ledger relies on it.
      const contents = new Map<string, string>();
      for (const { hash, elements } of [...first.blocks, ...second.blocks]) {
        if (hash === undefined) continue;
        const content = elements()
          .map((element) => element.read().raw)
          .join();
        expect(contents.get(hash) ?? content).toBe(content);
        contents.set(hash, content);
      }
    });
    fc.assert(property, { numRuns: 25 });
  });

  test('an identical listing has the same blocks, and none is cut short', () => {
    const first = readBody(bodyOf(leads(upTo(3_000))), plain);
    const again = readBody(bodyOf(leads(upTo(3_000))), [10_000, 333], first.learned);
    expect(hashes(again)).toEqual(hashes(first));
    expect(again.learned).toEqual(first.learned);
    expect(first.blocks.length).toBeGreaterThan(7);
  });

  test.each([
    ['at its beginning', 0],
    ['in its middle', 1_500],
    ['at its end', 3_000],
  ])('a listing with a new lead %s shares most of its blocks with the last one', (_, at) => {
    const old = leads(upTo(3_000));
    const first = readBody(bodyOf(old), plain);
    const second = readBody(bodyOf(old.toSpliced(at, 0, ...leads([9_999]))), plain, first.learned);
    const known = new Set(hashes(first));
    const fresh = second.blocks.filter(({ hash }) => !hash || !known.has(hash));
    expect(fresh.reduce((sum, { size }) => sum + size, 0)).toBeLessThan(1_200);
    expect(second.texts).toHaveLength(3_001);
  });

  test('elements keep their positions', () => {
    const first = readBody(bodyOf(leads(upTo(1_000))), plain);
    const second = readBody(bodyOf(leads([5_000, ...upTo(1_000)])), plain, first.learned);
    const places = second.blocks.flatMap((block) => block.elements().map(({ position }) => position));
    expect(places).toEqual([...Array(1_001).keys()]);
  });

  test('when the listing pauses, the elements so far are returned, even if they look like the last listing', () => {
    const body = bodyOf(leads(upTo(100)));
    const first = readBody(body, plain);
    const reader = new Blocks(new SequenceReader(first.learned), MAX_BYTES, 0);
    expect([...reader.push(body.subarray(0, 20_000))]).toEqual([]);
    expect(reader.isWaiting).toBe(true);
    const [block] = reader.flush();
    expect(block?.size).toBeGreaterThan(20);
    const rest = [...reader.push(body.subarray(20_000)), ...reader.end()];
    expect((block?.size ?? 0) + rest.reduce((sum, { size }) => sum + size, 0)).toBe(100);
  });

  test('a listing that breaks off while it looks like the last one returns what came before, and its fault', () => {
    const body = bodyOf(leads(upTo(1_000)));
    const first = readBody(body, plain);
    const cut = readBody(body.subarray(0, -1_000), plain, first.learned);
    expect(cut.error).toMatchObject({ name: 'SourceError', code: 'incomplete' });
    expect(cut.texts.length).toBeGreaterThan(995);
    const broken = Buffer.from(body);
    broken.write('}', body.lastIndexOf(',\n'));
    const odd = readBody(broken, plain, first.learned);
    expect(odd.error).toBeInstanceOf(SourceError);
    expect(odd.error).toMatchObject({ code: 'protocol' });
    // The last element before the fault may itself be damaged: it seems to end where its brackets balance.
    expect(odd.texts).toHaveLength(998);
  });

  test('an oversize element does not hold up a long block, and the elements after it are listed', () => {
    const listed = leads(upTo(40));
    listed.splice(20, 0, aLead({ id: 99, client_name: 'x'.repeat(1_000_000) }));
    const first = readBody(bodyOf(listed), plain);
    expect(Math.max(...[...first.learned.values()].map(({ bytes }) => bytes))).toBeLessThan(800_000);
    const second = readBody(bodyOf(listed), plain, first.learned);
    expect(second.error).toBeUndefined();
    expect(second.texts).toHaveLength(41);
    expect(hashes(second)).toEqual(hashes(first));
  });

  test('blocks of large leads end by size, and are recognised', () => {
    const large = upTo(30).map((id) => aLead({ id, client_name: 'x'.repeat(150_000) }));
    const first = readBody(bodyOf(large), plain);
    expect(readBody(bodyOf(large), plain, first.learned).texts).toEqual(large);
    expect(Math.max(...first.blocks.map(({ size }) => size))).toBeLessThanOrEqual(3);
  });
});

/** Expects the recorded hash of a block to be that of all its own bytes and no others. */
function expectOwnBytes({ learned }: Reading, body: Buffer): void {
  let at = 0;
  for (let block = learned.get(''); block; block = learned.get(block.hash)) {
    const bytes = body.subarray(at, at + block.bytes);
    expect(hash('sha256', bytes).slice(0, 32)).toBe(block.hash);
    at += block.bytes;
  }
}

function hashes({ blocks }: Reading): (string | undefined)[] {
  return blocks.map(({ hash }) => hash);
}

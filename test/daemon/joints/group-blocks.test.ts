import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { groupBlocks } from '../../../src/daemon/joints/group-blocks.ts';
import type { ListedBlock } from '../../../src/leads/listed-lead.ts';

const busy = () => new Promise(() => undefined);
const idle = async () => undefined;

/** Blocks by letters: a capital letter is a recognised block, `!` a fault, and `…` a service that sends nothing more. */
async function* blocksOf(letters: string): AsyncGenerator<ListedBlock> {
  for (const letter of letters) {
    if (letter === '!') throw new Error('the listing broke off');
    if (letter === '…') await busy();
    await turn();
    yield { hash: letter, size: 1, isRecognised: letter < 'a', elements: () => [] };
  }
}

/** Groups blocks until the listing ends or `count` groups have come. */
async function grouped(letters: string, whenIdle: () => Promise<unknown>, count = 100): Promise<string[]> {
  const groups: string[] = [];
  const grouping = groupBlocks(blocksOf(letters), whenIdle);
  try {
    while (groups.length < count) {
      const { value, done } = await grouping.next();
      if (done) break;
      groups.push(value.map(({ hash }) => hash).join(''));
    }
  } catch (error) {
    groups.push(String(error));
  }
  return groups;
}

test('groups the recognised blocks that arrive while the ledger is busy, and passes every other block alone', async () => {
  expect(await grouped('ABcdEfGH', busy)).toEqual(['AB', 'c', 'd', 'E', 'f', 'GH']);
  expect(await grouped('', busy)).toEqual([]);
});

test('a group has at most 8 blocks', async () => {
  expect(await grouped('ABCDEFGHIJKLMNOPQRSa', busy)).toEqual(['ABCDEFGH', 'IJKLMNOP', 'QRS', 'a']);
});

test('the blocks before a fault come before it', async () => {
  expect(await grouped('aBC!', busy)).toEqual(['a', 'BC', 'Error: the listing broke off']);
  expect(await grouped('!', busy)).toEqual(['Error: the listing broke off']);
});

test('no block is held while the ledger is idle, even if the service sends nothing more', async () => {
  expect(await grouped('ABcD', idle)).toEqual(['A', 'B', 'c', 'D']);
  expect(await grouped('AB…', idle, 2)).toEqual(['A', 'B']);
  const recorded = Promise.withResolvers<void>();
  const grouping = groupBlocks(blocksOf('ABC…'), () => recorded.promise);
  const first = grouping.next();
  for (let turns = 0; turns < 10; turns += 1) await turn();
  recorded.resolve();
  expect((await first).value?.map(({ hash }) => hash)).toEqual(['A', 'B', 'C']);
});

test('a caller that stops ends the reading', async () => {
  let ended = false;
  async function* blocks(): AsyncGenerator<ListedBlock> {
    try {
      yield* blocksOf('abc');
    } finally {
      ended = true;
    }
  }
  for await (const _ of groupBlocks(blocks(), idle)) break;
  expect(ended).toBe(true);
});

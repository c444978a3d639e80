import { expect, test } from 'vitest';
import { groupBlocks } from '../../../src/daemon/joints/group-blocks.ts';
import type { ListedBlock } from '../../../src/leads/listed-lead.ts';

/** Blocks by letters: a capital letter is a recognised block. */
async function* blocksOf(letters: string): AsyncGenerator<ListedBlock> {
  for (const letter of letters) {
    if (letter === '!') throw new Error('the listing broke off');
    yield { hash: letter, size: 1, isRecognised: letter < 'a', elements: () => [] };
  }
}

async function grouped(letters: string): Promise<string[]> {
  const groups: string[] = [];
  try {
    for await (const group of groupBlocks(blocksOf(letters)))
      groups.push(group.map(({ hash }) => hash).join(''));
  } catch (error) {
    groups.push(String(error));
  }
  return groups;
}

test('recognised blocks that follow one another are a group, every other block is one of its own', async () => {
  expect(await grouped('ABcdEfGH')).toEqual(['AB', 'c', 'd', 'E', 'f', 'GH']);
  expect(await grouped('')).toEqual([]);
});

test('a group has at most 16 blocks', async () => {
  expect(await grouped('ABCDEFGHIJKLMNOPQRSTUVWXYZABCDEFGHIJKa')).toEqual([
    'ABCDEFGHIJKLMNOP',
    'QRSTUVWXYZABCDEF',
    'GHIJK',
    'a',
  ]);
});

test('the blocks before a fault come before it', async () => {
  expect(await grouped('aBC!')).toEqual(['a', 'BC', 'Error: the listing broke off']);
  expect(await grouped('!')).toEqual(['Error: the listing broke off']);
});

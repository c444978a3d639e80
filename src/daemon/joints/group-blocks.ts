import type { ListedBlock } from '../../leads/listed-lead.ts';

/**
 * Maximum recognised blocks in a group. The group holds their bytes. A call to the ledger takes longer than to read a block, so with
 * smaller groups the poll would wait for the ledger.
 */
const MAX_BLOCKS = 16;

/** Consecutive blocks: several that the source recognised, or a single one. */
export type BlockGroup = readonly [ListedBlock, ...ListedBlock[]];

/** Groups consecutive blocks that the source recognised, so that one call can pass all of them to the ledger. Keeps the order. */
export async function* groupBlocks(
  blocks: AsyncIterable<ListedBlock>,
): AsyncGenerator<BlockGroup, void, void> {
  let recognised: ListedBlock[] = [];
  const waiting = (): BlockGroup[] => {
    const [first, ...rest] = recognised;
    recognised = [];
    return first ? [[first, ...rest]] : [];
  };
  try {
    for await (const block of blocks) {
      if (block.isRecognised && recognised.push(block) < MAX_BLOCKS) continue;
      yield* waiting();
      if (!block.isRecognised) yield [block];
    }
  } catch (error) {
    yield* waiting(); // the blocks before the fault are valid
    throw error;
  }
  yield* waiting();
}

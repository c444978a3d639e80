import type { ListedBlock } from '../../leads/listed-lead.ts';

/** Maximum number of recognised blocks in a group. A group keeps the bytes of its blocks in memory. */
const MAX_BLOCKS = 8;

/** Consecutive blocks: several that the source recognised, or a single one. */
export type BlockGroup = readonly [ListedBlock, ...ListedBlock[]];

/**
 * Groups consecutive blocks that the source recognised and that arrive while the ledger is busy, so that one call can pass all of them to
 * the ledger. Holds back no block while the ledger is idle, because the ledger may not know even a recognised block, which then contains
 * new leads. Keeps the order.
 * @param idle returns a promise that resolves once the ledger has recorded the last group
 */
export async function* groupBlocks(
  blocks: AsyncIterable<ListedBlock>,
  idle: () => Promise<unknown>,
): AsyncGenerator<BlockGroup, void, void> {
  const reading = blocks[Symbol.asyncIterator]();
  let recognised: ListedBlock[] = [];
  const waiting = (): BlockGroup[] => {
    const [first, ...rest] = recognised;
    recognised = [];
    return first ? [[first, ...rest]] : [];
  };
  let next: Promise<IteratorResult<ListedBlock>> | undefined;
  try {
    for (;;) {
      next ??= reading.next();
      next.catch(() => undefined); // awaited below, perhaps after a group was yielded
      const arrived = await (recognised.length > 0
        ? Promise.race([next, idle().then(() => undefined)])
        : next);
      if (arrived !== undefined) next = undefined;
      if (arrived?.done) break;
      const block = arrived?.value;
      if (block?.isRecognised && recognised.push(block) < MAX_BLOCKS) continue;
      yield* waiting();
      if (block && !block.isRecognised) yield [block];
    }
  } catch (error) {
    yield* waiting(); // the blocks before the fault are valid
    throw error;
  } finally {
    await reading.return?.();
  }
  yield* waiting();
}

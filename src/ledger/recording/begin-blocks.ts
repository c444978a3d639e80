import type { BlockHead } from '../../leads/listed-lead.ts';
import type { OpenPoll } from './open-poll.ts';

/** Begins a block. Returns true if the last listing contained the block; its leads then count as seen. */
export function beginBlock(poll: OpenPoll, block: BlockHead): boolean {
  const known = poll.blocks.begin(block);
  for (const lead of known ?? []) {
    poll.undecided.delete(lead);
    poll.seen.add(lead);
  }
  return known !== undefined;
}

/** Begins blocks up to the first one that is not known, and returns how many it began. */
export function beginKnown(poll: OpenPoll, blocks: readonly BlockHead[]): number {
  const unknown = blocks.findIndex((block) => !poll.blocks.isKnown(block) || !beginBlock(poll, block));
  return unknown === -1 ? blocks.length : unknown;
}

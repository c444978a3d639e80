import type { ListedBlock } from '../../leads/listed-lead.ts';
import { BlockHash, hashOfBlock } from './block-hash.ts';
import type { BlockShape, SequenceReader } from './block-sequence.ts';
import type { Element } from './element-bytes.ts';
import { listedElement } from './listed-element.ts';
import { Splitter } from './splitter.ts';

/** Maximum number of elements, and of bytes, in a block. The ledger commits a block in one transaction. */
const BLOCK_ELEMENTS = 400;
const BLOCK_BYTES = 384 * 1024;
/** Maximum number of bytes to buffer for a comparison with the last listing. A longer block is split again in every poll. */
const LONGEST_HELD_BYTES = 2 * BLOCK_BYTES;
/** Average number of elements between two boundaries that the content defines. An insertion does not move these boundaries. */
const ENDS_ONE_IN = 251;
/** Bytes that decide whether an element ends a block: all of its first `BEGINNING_BYTES`, and about `SAMPLES` bytes of the rest. */
const BEGINNING_BYTES = 24;
const SAMPLES = 16;
const NOTHING = Buffer.alloc(0);

/**
 * Cuts a listing into blocks as it arrives. Bytes that equal the expected block of the last listing are only hashed; bytes that differ are
 * split into elements. Most block boundaries are defined by content (content-defined chunking), so that the blocks after an inserted
 * element are the same as in the last listing.
 */
export class Blocks {
  readonly #sequence: SequenceReader;
  readonly #maxElementBytes: number;
  readonly #splitter: Splitter;
  readonly #hash = new BlockHash();
  /** Parts that have arrived and are not processed yet. */
  readonly #parts: Buffer[] = [];
  /** The block that should come next according to the last listing; undefined while splitting. */
  #expected: BlockShape | undefined;
  #held: Buffer[] = [];
  #heldBytes = 0;
  #elements: Element[] = [];
  #elementBytes = 0;
  #position: number;
  #isFirst = true;

  /** @param position position of the first element, 0-based */
  constructor(sequence: SequenceReader, maxElementBytes: number, position: number) {
    this.#sequence = sequence;
    this.#maxElementBytes = maxElementBytes;
    this.#splitter = new Splitter(maxElementBytes);
    this.#position = position;
    this.#expected = sequence.next;
  }

  /** Position of the first element that is not in a yielded block, 0-based. */
  get position(): number {
    return this.#position;
  }

  /** Whether any complete elements, or bytes buffered for a comparison, are not in a yielded block yet. Ignores an incomplete element. */
  get isWaiting(): boolean {
    return this.#elements.length > 0 || this.#heldBytes > 0 || this.#splitter.isWaiting;
  }

  /** Yields the blocks that end in this part. @throws SourceError `protocol` at the first byte that cannot belong to a JSON array */
  *push(part: Buffer): Generator<ListedBlock, void, void> {
    this.#parts.push(part);
    yield* this.#work();
  }

  *#work(): Generator<ListedBlock, void, void> {
    for (let part = this.#parts.shift(); part; part = this.#parts.shift())
      yield* this.#expected ? this.#compare(part, this.#expected) : this.#split(part);
  }

  /** Yields all complete elements that have arrived, without waiting until their block is full. @throws SourceError as `push` */
  *flush(): Generator<ListedBlock, void, void> {
    try {
      while (this.#heldBytes > 0) {
        this.#expected = undefined;
        this.#parts.unshift(...this.#release());
        yield* this.#work();
      }
    } catch (error) {
      if (this.#elements.length > 0) yield this.#finish();
      throw error;
    }
    for (const element of this.#splitter.rest()) {
      this.#add(element);
      this.#hash.add(NOTHING, 0);
    }
    if (this.#elements.length > 0) yield this.#finish();
  }

  /**
   * Yields the rest of the listing. Must be called when the body has ended.
   * @throws SourceError `incomplete` if the array has not ended; otherwise as `push`
   */
  *end(): Generator<ListedBlock, void, void> {
    yield* this.flush();
    this.#splitter.end();
  }

  *#compare(part: Buffer, expected: BlockShape): Generator<ListedBlock, void, void> {
    const missing = expected.bytes - this.#heldBytes;
    this.#held.push(part.subarray(0, missing));
    this.#heldBytes += Math.min(part.length, missing);
    if (part.length < missing) return;
    if (part.length > missing) this.#parts.unshift(part.subarray(missing));
    const held = this.#release();
    if (hashOfBlock(held) === expected.hash) yield this.#recognise(expected, held);
    else {
      this.#expected = undefined;
      this.#parts.unshift(...held);
    }
  }

  #release(): Buffer[] {
    const held = this.#held;
    this.#held = [];
    this.#heldBytes = 0;
    return held;
  }

  #recognise(block: BlockShape, held: readonly Buffer[]): ListedBlock {
    const [max, position, isFirst] = [this.#maxElementBytes, this.#position, this.#isFirst];
    this.#splitter.skip(block.bytes, block.size);
    this.#pass(block, block.size);
    const { hash, size } = block;
    return { hash, size, isRecognised: true, elements: () => listed(cut(held, max, isFirst), position) };
  }

  *#split(part: Buffer): Generator<ListedBlock, void, void> {
    let from = 0;
    let end: number | undefined;
    for (const element of this.#splitter.push(part)) {
      this.#add(element);
      end = this.#splitter.at;
      if (!this.#isFull() && !endsBlock(element)) continue;
      this.#hash.add(part.subarray(from, end), end - from);
      from = end;
      yield this.#finish();
      if (!this.#expected) continue;
      this.#splitter.leave();
      this.#parts.unshift(part.subarray(end));
      return;
    }
    this.#hash.add(part.subarray(from), end === undefined ? undefined : end - from);
  }

  #add(element: Element): void {
    this.#elements.push(element);
    this.#elementBytes += memoryOf(element);
  }

  #isFull(): boolean {
    return this.#elements.length >= BLOCK_ELEMENTS || this.#elementBytes >= BLOCK_BYTES;
  }

  #finish(): ListedBlock {
    const [elements, position] = [this.#elements, this.#position];
    const size = elements.length;
    this.#elements = [];
    this.#elementBytes = 0;
    const { isClean } = this.#hash;
    const hashed = this.#hash.finish();
    // The next poll would have to buffer a block with a large element completely, only to compare it.
    const isHeld = hashed && hashed.bytes <= LONGEST_HELD_BYTES;
    this.#pass(isHeld ? { ...hashed, size } : undefined, size);
    if (!isClean) this.#expected = undefined; // part of the next block has been split already
    return { hash: hashed?.hash, size, isRecognised: false, elements: () => listed(elements, position) };
  }

  #pass(block: BlockShape | undefined, size: number): void {
    this.#sequence.pass(block);
    this.#expected = this.#sequence.next;
    this.#position += size;
    this.#isFirst = false;
  }
}

/** Splits a recognised block into its elements. */
function cut(parts: readonly Buffer[], maxElementBytes: number, isFirst: boolean): Element[] {
  const splitter = new Splitter(maxElementBytes);
  if (!isFirst) splitter.skip(0, 0);
  return [...parts.flatMap((part) => [...splitter.push(part)]), ...splitter.rest()];
}

function listed(elements: readonly Element[], position: number) {
  return elements.map((element, index) => listedElement(element, position + index));
}

function memoryOf(element: Element): number {
  return element.kind === 'whole' ? element.bytes.length : element.head.length;
}

/** Whether an element ends a block: decided by FNV-1a over its first bytes, where the id usually is, and samples of the rest. */
function endsBlock(element: Element): boolean {
  if (element.kind === 'oversize') return true;
  const { bytes } = element;
  const step = Math.max(1, Math.floor(bytes.length / SAMPLES));
  let hash = 0x811c9dc5 ^ bytes.length;
  for (let at = 0; at < bytes.length; at += at < BEGINNING_BYTES ? 1 : step)
    hash = Math.imul(hash ^ (bytes[at] ?? 0), 0x01000193);
  return (hash >>> 0) % ENDS_ONE_IN === 0;
}

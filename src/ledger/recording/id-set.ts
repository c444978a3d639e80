/** The largest id that has a bit: bitwise operators take numbers of 31 bits and a sign. */
const MAX_BIT = 2 ** 31 - 1;

/**
 * A set of non-negative integers. Takes one to two bits for each integer up to the largest: about 130 KB for a million. Integers of more than 31
 * bits take as much as in a `Set`.
 */
export class IdSet {
  #bits = new Uint8Array(1024);
  #size = 0;
  readonly #large = new Set<number>();

  get size(): number {
    return this.#size + this.#large.size;
  }

  has(id: number): boolean {
    if (id > MAX_BIT) return this.#large.has(id);
    return ((this.#bits[id >> 3] ?? 0) & (1 << (id & 7))) !== 0;
  }

  /** Returns false if the set contained the id already. */
  add(id: number): boolean {
    if (this.has(id)) return false;
    if (id > MAX_BIT) this.#large.add(id);
    else this.#addBit(id);
    return true;
  }

  /** Returns false if the set did not contain the id. */
  delete(id: number): boolean {
    if (id > MAX_BIT) return this.#large.delete(id);
    if (!this.has(id)) return false;
    const index = id >> 3;
    this.#bits[index] = (this.#bits[index] ?? 0) & ~(1 << (id & 7));
    this.#size -= 1;
    return true;
  }

  #addBit(id: number): void {
    const index = id >> 3;
    if (index >= this.#bits.length) {
      const larger = new Uint8Array(Math.max(index + 1, this.#bits.length * 2));
      larger.set(this.#bits);
      this.#bits = larger;
    }
    this.#bits[index] = (this.#bits[index] ?? 0) | (1 << (id & 7));
    this.#size += 1;
  }
}

/** A bit set of small non-negative integers. Takes one bit for each integer up to the largest: about 125 KB for a million. */
export class IdSet {
  #bits = new Uint8Array(1024);
  #size = 0;

  get size(): number {
    return this.#size;
  }

  has(id: number): boolean {
    return ((this.#bits[id >> 3] ?? 0) & (1 << (id & 7))) !== 0;
  }

  /** Returns false if the set contained the id already. */
  add(id: number): boolean {
    if (this.has(id)) return false;
    const index = id >> 3;
    if (index >= this.#bits.length) {
      const larger = new Uint8Array(Math.max(index + 1, this.#bits.length * 2));
      larger.set(this.#bits);
      this.#bits = larger;
    }
    this.#bits[index] = (this.#bits[index] ?? 0) | (1 << (id & 7));
    this.#size += 1;
    return true;
  }

  /** Returns false if the set did not contain the id. */
  delete(id: number): boolean {
    if (!this.has(id)) return false;
    const index = id >> 3;
    this.#bits[index] = (this.#bits[index] ?? 0) & ~(1 << (id & 7));
    this.#size -= 1;
    return true;
  }
}

/** A set of small non-negative integers: one bit each, so that a million take 125 KB. */
export class IdSet {
  #bits = new Uint8Array(1024);
  #size = 0;

  get size(): number {
    return this.#size;
  }

  has(id: number): boolean {
    return ((this.#bits[id >> 3] ?? 0) & (1 << (id & 7))) !== 0;
  }

  /** False when it was there already. */
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

  /** False when it was not there. */
  delete(id: number): boolean {
    if (!this.has(id)) return false;
    const index = id >> 3;
    this.#bits[index] = (this.#bits[index] ?? 0) & ~(1 << (id & 7));
    this.#size -= 1;
    return true;
  }
}

import { hash } from 'node:crypto';

/** So many different wrong tokens in a minute from one address: a person needs few, and a guess has no chance. */
const MOST = 10;
const WINDOW_MS = 60_000;
/** So many addresses are remembered; one more makes the oldest forgotten. */
const MOST_ADDRESSES = 10_000;

interface Tried {
  readonly untilMs: number;
  /** By hash: what is in memory tells nobody how near a guess was. */
  readonly wrong: Set<string>;
}

/** Which wrong tokens were shown from where. The same one again is no guess but a mistake: it keeps nobody else out. */
export class Guesses {
  readonly #now: () => number;
  readonly #tried = new Map<string, Tried>();

  /** `now` gives ms that only ever grow. */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** For how many more seconds no token is looked at from this address; 0: it is. */
  waitSeconds(address: string): number {
    const tried = this.#of(address);
    return tried && tried.wrong.size >= MOST ? Math.ceil((tried.untilMs - this.#now()) / 1000) : 0;
  }

  /** Notes a wrong one. Gives whether it is another than those before it. */
  add(address: string, shown: string): boolean {
    const tried = this.#of(address) ?? this.#begin(address);
    const before = tried.wrong.size;
    tried.wrong.add(hash('sha256', shown, 'base64url'));
    return tried.wrong.size > before;
  }

  #of(address: string): Tried | undefined {
    const tried = this.#tried.get(address);
    if (!tried || tried.untilMs > this.#now()) return tried;
    this.#tried.delete(address);
    return undefined;
  }

  #begin(address: string): Tried {
    const [oldest] = this.#tried.keys();
    if (oldest !== undefined && this.#tried.size >= MOST_ADDRESSES) this.#tried.delete(oldest);
    const tried = { untilMs: this.#now() + WINDOW_MS, wrong: new Set<string>() };
    this.#tried.set(address, tried);
    return tried;
  }
}

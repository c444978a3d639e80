/**
 * Where a fault strikes: when something goes from the process to the outside or back, when that belongs to an attempt, or
 * at a write to the ledger.
 */
export type Place = 'crossing' | 'attempt' | 'write';

/** What is to happen to a process once it has passed so many more places. */
export interface Trap {
  readonly kind: 'kill' | 'freeze';
  readonly place: Place;
  /** 0: at the next one. */
  readonly after: number;
}

/**
 * A simulated process's hold on life. Everything that it does to the outside, and all that the outside tells it, goes
 * through here: so that it can end or stand still at any `await`, and nothing of it goes on that should not.
 */
export class Life {
  readonly name: string;
  readonly #onTrap: (kind: Trap['kind']) => void;
  #state: 'running' | 'frozen' | 'dead' = 'running';
  #held: (() => void)[] = [];
  #trap: Trap | undefined;
  #passed = 0;

  /** `onTrap` is to kill or to freeze. */
  constructor(name: string, onTrap: (kind: Trap['kind']) => void) {
    this.name = name;
    this.#onTrap = onTrap;
  }

  get isDead(): boolean {
    return this.#state === 'dead';
  }

  get isRunning(): boolean {
    return this.#state === 'running';
  }

  arm(trap: Trap): void {
    this.#trap = trap;
    this.#passed = 0;
  }

  disarm(): void {
    this.#trap = undefined;
  }

  die(): void {
    this.#state = 'dead';
    this.#held = [];
  }

  freeze(): void {
    if (this.#state === 'running') this.#state = 'frozen';
  }

  thaw(): void {
    if (this.#state !== 'frozen') return;
    this.#state = 'running';
    for (const go of this.#held.splice(0)) this.hand(go);
  }

  /** Tells the process something: now, when it goes on, or never. */
  hand(tell: () => void): void {
    if (this.#state === 'running') tell();
    else if (this.#state === 'frozen') this.#held.push(tell);
  }

  /** Does something to the outside, and tells the process what came of it. It can end before, during and after. */
  act<T>(work: () => Promise<T>, place: 'crossing' | 'attempt' = 'crossing'): Promise<T> {
    return new Promise((resolve, reject) => {
      const answer = (tell: () => void) => {
        this.pass(place);
        this.hand(tell);
      };
      this.pass(place);
      this.hand(() => {
        const done = work();
        this.pass(place);
        done.then(
          (value) => answer(() => resolve(value)),
          (error: unknown) => answer(() => reject(error)),
        );
      });
    });
  }

  /** To be called wherever a trap may lie. */
  pass(place: Place): void {
    if (this.#state !== 'running' || !this.#trap || !isAt(this.#trap.place, place)) return;
    this.#passed += 1;
    if (this.#passed <= this.#trap.after) return;
    const { kind } = this.#trap;
    this.#trap = undefined;
    this.#onTrap(kind);
  }
}

function isAt(trap: Place, place: Place): boolean {
  return trap === place || (trap === 'crossing' && place === 'attempt');
}

/**
 * Where a fault occurs: when something passes between the process and the outside, when that belongs to an attempt, or at a write to the
 * ledger.
 */
export type Place = 'crossing' | 'attempt' | 'write';

/** What happens to a process once it has passed a number of places. */
export interface Trap {
  readonly kind: 'kill' | 'freeze';
  readonly place: Place;
  /** The number of places to pass first; 0 means the next one. */
  readonly after: number;
}

/**
 * Whether a simulated process lives. Everything that it does to the outside and everything that it receives passes through here, so that it
 * can die or freeze at any `await`, and no part of it continues that should not.
 */
export class Life {
  readonly name: string;
  readonly #onTrap: (kind: Trap['kind']) => void;
  #state: 'running' | 'frozen' | 'dead' = 'running';
  #held: (() => void)[] = [];
  #trap: Trap | undefined;
  #passed = 0;

  /** @param onTrap kills or freezes the process */
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

  /** Hands a result to the process: now, when it resumes, or never. */
  hand(tell: () => void): void {
    if (this.#state === 'running') tell();
    else if (this.#state === 'frozen') this.#held.push(tell);
  }

  /** Does something outside and hands the process the result. The process can die before, during and after. */
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

  /** Marks a place where a trap may strike. */
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

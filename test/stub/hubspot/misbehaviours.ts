import type { AnsweredInput, AnswerName } from './answers.ts';

/** An answer of a test's own making. */
export interface MadeAnswer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | object | ((inputs: readonly AnsweredInput[]) => string | object);
}

/** What happens to a request in place of the right answer. */
export interface Misbehaviour {
  /**
   * A documented answer by name, or one that the test makes, or no answer: `cut` closes the connection, `silent` keeps it open,
   * `truncated` sends half of the right answer and closes it.
   */
  readonly answer: AnswerName | MadeAnswer | 'cut' | 'silent' | 'truncated';
  /** Whether HubSpot carries out the request all the same; `truncated` always does. */
  readonly stores?: boolean;
  /** The requests that it applies to, by a part of method and path: `deals/batch`. All by default. */
  readonly at?: string;
  /** Number of requests; 1 by default. */
  readonly times?: number;
  /** The Retry-After header. */
  readonly retryAfter?: string;
}

/** What waits for requests; each request takes the first that applies to it. */
export class Misbehaviours {
  #waiting: { misbehaviour: Misbehaviour; left: number }[] = [];

  add(misbehaviour: Misbehaviour): void {
    this.#waiting.push({ misbehaviour, left: misbehaviour.times ?? 1 });
  }

  clear(): void {
    this.#waiting = [];
  }

  /** Returns the misbehaviour for a request and counts it. */
  next(methodAndPath: string): Misbehaviour | undefined {
    const found = this.#waiting.find(({ misbehaviour: { at = '' } }) => methodAndPath.includes(at));
    if (!found) return undefined;
    found.left -= 1;
    if (found.left <= 0) this.#waiting = this.#waiting.filter((waiting) => waiting !== found);
    return found.misbehaviour;
  }
}

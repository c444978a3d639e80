/** Maximum effort of the functions of a mapping for one lead: calls, and thousands of characters that they read. */
const MAX_EFFORT = 20_000;
const CHARACTERS = 1_000;

/**
 * Limits how much the functions of a mapping do for one lead. An expression with loops may call them a million times, and other deliveries
 * would wait for it. Counts instead of measuring time, so that a lead has the same outcome in every attempt.
 */
export class Effort {
  #left = MAX_EFFORT;

  /** Begins with another lead. */
  begin(): void {
    this.#left = MAX_EFFORT;
  }

  /** Counts a call. @throws an error with the code `too_much_effort` if it is one too many */
  spend(argument: unknown): void {
    this.#left -= typeof argument === 'string' ? 1 + argument.length / CHARACTERS : 1;
    if (this.#left < 0) throw Object.assign(new Error('too many calls'), { code: 'too_much_effort' });
  }
}

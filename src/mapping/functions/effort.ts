/** Maximum effort of a mapping's functions for one lead: one for each call, and one for each thousand characters that a call reads. */
const MAX_EFFORT = 20_000;
const CHARACTERS = 1_000;

/**
 * Limits how much work a mapping's functions do for one lead. An expression with loops may call them a million times, and other deliveries would
 * wait. Counts instead of measuring time, so that a lead has the same outcome in every attempt.
 */
export class Effort {
  #left = MAX_EFFORT;

  /** Resets the effort for the next lead. */
  begin(): void {
    this.#left = MAX_EFFORT;
  }

  /** Counts a call. @throws an error with the code `too_much_effort` if the maximum effort is exceeded */
  spend(argument: unknown): void {
    this.#left -= typeof argument === 'string' ? 1 + argument.length / CHARACTERS : 1;
    if (this.#left < 0) throw Object.assign(new Error('too many calls'), { code: 'too_much_effort' });
  }
}

/** Returns a number with its noun: `3 leads`, `1 lead`. */
export function count(n: number, what: string, many = `${what}s`): string {
  return `${n} ${n === 1 ? what : many}`;
}

/** Returns a sentence without its full stop, so that the sentence can be part of another one. */
export function withoutStop(text: string): string {
  return text.replace(/\.$/, '');
}

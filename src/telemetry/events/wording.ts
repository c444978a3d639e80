/** Returns `3 leads`, `1 lead`. */
export function count(n: number, what: string, many = `${what}s`): string {
  return `${n} ${n === 1 ? what : many}`;
}

/** Returns a time in ms as seconds: `1.3 s`, and from ten seconds on `12 s`. */
export function seconds(ms: number): string {
  return ms < 9_950 ? `${(ms / 1000).toFixed(1)} s` : `${Math.round(ms / 1000)} s`;
}

/** Returns a sentence without its full stop, so that it can be a part of another one. */
export function withoutStop(text: string): string {
  return text.replace(/\.$/, '');
}

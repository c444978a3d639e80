/** `1 lead`, `1,204 leads`. */
export function countOf(n: number, what: string): string {
  if (n === 1) return `1 ${what}`;
  return `${n.toLocaleString('en')} ${what.replace(/y$/, 'ie')}s`;
}

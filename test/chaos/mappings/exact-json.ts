/** Parses JSON. Returns a whole number beyond 2^53, which a number would round, as a string with its digits. */
export function parseExactly(text: string): unknown {
  return JSON.parse(text, (_, value, context?: { readonly source?: string }) =>
    Number.isInteger(value) && !Number.isSafeInteger(value) ? context?.source : value,
  );
}

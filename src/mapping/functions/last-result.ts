/** Wraps a function so that it caches its last result: the first and the last name are usually read from the same text. */
export function lastResult<Result>(compute: (text: string) => Result): (text: string) => Result {
  let last: { readonly text: string; readonly result: Result } | undefined;
  return (text) => {
    if (last?.text !== text) last = { text, result: compute(text) };
    return last.result;
  };
}

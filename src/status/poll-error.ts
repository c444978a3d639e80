/** Returns the error text that the ledger stores for a poll: a code that queries can match, then the sentence. */
export function pollError({ code, reason }: { readonly code: string; readonly reason: string }): string {
  return `${code}: ${reason}`;
}

/** Splits a stored error into code and reason. If a stop of leadsync interrupted the poll, the error has no code. */
export function readPollError(error: string): { code: string | undefined; reason: string } {
  const [, code, reason = error] = /^([a-z-]+): (.*)$/s.exec(error) ?? [];
  return { code, reason };
}

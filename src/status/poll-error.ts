/** The error that the ledger keeps of a poll: a code before the sentence, for queries. */
export function pollError({ code, reason }: { readonly code: string; readonly reason: string }): string {
  return `${code}: ${reason}`;
}

/** What a poll's error was made of; a poll that was cut off by leadsync's own end has no code. */
export function readPollError(error: string): { code: string | undefined; reason: string } {
  const [, code, reason = error] = /^([a-z-]+): (.*)$/s.exec(error) ?? [];
  return { code, reason };
}

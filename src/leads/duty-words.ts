const KINDS: Readonly<Record<string, string>> = {
  poll: 'polls of',
  dispatch: 'dispatch to',
  backfill: 'backfill of',
  mirror: 'mirror of',
};

/** Returns a duty in words, such as `polls of main`. */
export function workOf(duty: string): string {
  const colon = duty.indexOf(':');
  const [kind, name] = colon < 0 ? [duty, ''] : [duty.slice(0, colon), duty.slice(colon + 1)];
  return colon < 0 ? kind : `${KINDS[kind] ?? kind} ${name}`;
}

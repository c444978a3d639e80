/** Maximum length of a path to return to, so that a begun login takes little memory. */
const MAX_LENGTH = 1_000;

/** Returns `next` if it is a path of this server, otherwise `/`, so that a login never leads to another site. */
export function safeRedirect(next: unknown): string {
  const isOwn =
    typeof next === 'string' && next.length <= MAX_LENGTH && /^\/(?![/\\])[\x21-\x7e]*$/.test(next);
  return isOwn ? next : '/';
}

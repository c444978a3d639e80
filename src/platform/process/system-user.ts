import { userInfo } from 'node:os';

/** Returns the name of the user that this process runs as, or the user's number if it has no name. */
export function systemUser(): string {
  try {
    return userInfo().username;
  } catch {
    return `user ${process.getuid?.() ?? 'unknown'}`;
  }
}

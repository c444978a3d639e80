import { eventKind } from '../event-kind.ts';

/** Events about logins to the pages. */
export const adminEvents = {
  /** A login at the OpenID provider failed. `detail` has no code, no token and no claim, and does not name the person. */
  'login-failed': eventKind<{ reason: string; detail: string; hint: string }>({
    level: 'warn',
    fields: ['reason', 'detail', 'hint'],
    message: ({ detail, hint }) => `A login to the pages failed: ${detail} ${hint}`,
  }),
};

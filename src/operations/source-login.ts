import type { Config, SourceConfig } from '../config/contract/config.ts';
import type { Clock, Random } from '../platform/time/clock.ts';
import type { Login } from '../source/auth/authorization-code-login.ts';
import { openSource } from '../source/http-source.ts';
import { withStores } from './opening/with-stores.ts';

/**
 * Starts a login at a source, calls `use` with it, and closes the login and the source when `use` ends. A completed login stores its
 * tokens. @throws SourceError, LedgerError
 */
export async function withLogin<T>(
  config: Config,
  { name, options }: SourceConfig,
  { clock, random }: { clock: Clock; random: Random },
  use: (login: Login) => Promise<T>,
): Promise<T> {
  const { tokenKey } = config;
  return withStores(config, { clock }, async ({ tokens }) => {
    const source = openSource(name, options, { clock, random, tokens, tokenKey, emit: () => undefined });
    try {
      const login = await source.startLogin();
      try {
        return await use(login);
      } finally {
        await login.close();
      }
    } finally {
      await source.close();
    }
  });
}

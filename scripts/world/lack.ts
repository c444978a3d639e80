import { missingServers } from '../../test/support/servers/install-servers.ts';
import type { WorldOptions } from './options.ts';

const ORIGINS = {
  postgres: 'PostgreSQL (Debian, Ubuntu: sudo apt-get install postgresql; macOS: brew install postgresql)',
  chromium:
    'Chromium for --pictures (Debian, Ubuntu: sudo apt-get install chromium; macOS: brew install chromium)',
} as const;

/** Returns a sentence that names the program that the machine lacks, and how to install it; undefined if it has all. */
export function lackOf({ pictures }: Pick<WorldOptions, 'pictures'>): string | undefined {
  const needed = (['postgres', 'chromium'] as const).filter(
    (one) => one === 'postgres' || pictures !== undefined,
  );
  const missing = missingServers(needed).filter((server) => server === 'postgres' || server === 'chromium');
  if (missing.length === 0) return undefined;
  return `The world needs ${missing.map((server) => ORIGINS[server]).join(' and ')}.`;
}

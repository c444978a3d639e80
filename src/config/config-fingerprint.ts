import { hash } from 'node:crypto';
import type { ConfigValue } from './contract/config.ts';

/** Options that may differ between the machines of one installation: its directory, its address and its log. */
const OF_A_MACHINE = /^(data_dir|log|admin\.(listen|hosts|proxies))(\.|\[|$)/;

/**
 * Returns a fingerprint of the values in effect. It is the same on two machines whose configurations differ only in options of a machine, in the
 * values of secrets, in where values come from, or in their order.
 */
export function configFingerprint(values: readonly ConfigValue[]): string {
  const lines = values
    .filter(({ path }) => !OF_A_MACHINE.test(path))
    .map(({ path, value }) => JSON.stringify([path, value]));
  return hash('sha256', lines.sort().join('\n'), 'hex').slice(0, 12);
}

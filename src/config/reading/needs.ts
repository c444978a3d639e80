import { S3_SECRETS } from '../../exports/contract/options.ts';
import type { Path } from '../faults/fault-list.ts';
import { ANY_TYPE, sinkOptions } from '../options/sink-options.ts';

/**
 * What a configuration is read for. `everything`: to read leads and to deliver them. `ledger`: to look into the ledger and
 * to mend what is in it; then a secret that is not at hand is no fault where only reading and delivering need it.
 */
export type Purpose = 'everything' | 'ledger';

/** Whether the value at a path is needed for that purpose: one that is not may be absent from the environment. */
export function isNeeded(path: Path, purpose: Purpose): boolean {
  if (purpose === 'everything') return true;
  const [section, first, second] = path;
  switch (section) {
    case 'sources':
      return second === undefined || second === 'poll';
    case 'sinks':
      return second === undefined || second === 'type' || COMMON.has(String(second));
    case 'queue':
      return first !== 'redis_url';
    case 'exports':
      return !(S3_SECRETS as readonly unknown[]).includes(second);
    case 'admin':
      return first !== 'token';
    default:
      return section !== 'tokens' && section !== 'store' && section !== 'alerts';
  }
}

/** The options that every sink has are the ledger's business: which events are owed, when it is tried again. */
const COMMON: ReadonlySet<string> = new Set(Object.keys(sinkOptions(ANY_TYPE).shape));

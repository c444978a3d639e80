import type { DestinationRecord } from '../../leads/outcome.ts';

/** Returns the record of a lead at its destination, as a phrase: `message C01/17 (https://…)`. */
export function recordPhrase({ object, id, url }: DestinationRecord): string {
  return `${object} ${id}${url === undefined ? '' : ` (${url})`}`;
}

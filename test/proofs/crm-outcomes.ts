import type { Outcome } from '../../src/leads/outcome.ts';
import type { ErasedRecords } from '../../src/sinks/sink.ts';

/** Returns whether every lead of a batch was delivered. */
export function isDelivered(outcomes: readonly Outcome[]): boolean {
  return outcomes.every(({ kind }) => kind === 'delivered');
}

/** Returns the outcomes of a batch in words, with the reason of those that have one. */
export function kindsOf(outcomes: readonly Outcome[]): string {
  return outcomes
    .map((outcome) => ('reason' in outcome ? `${outcome.kind} (${outcome.reason})` : outcome.kind))
    .join(', ');
}

/** Returns how many records an erasure deleted, and that it kept none: `1 contact, 1 deal deleted, 0 kept`. */
export function summaryOfErasure(erased: number | ErasedRecords | undefined): string {
  if (typeof erased !== 'object') throw new TypeError('a CRM sink tells which records it deleted and kept');
  const { deleted, kept } = erased;
  const counts = Object.entries(deleted).map(([object, count]) => `${count} ${object}`);
  return `${counts.length > 0 ? counts.sort().join(', ') : 'nothing'} deleted, ${kept.length} kept`;
}

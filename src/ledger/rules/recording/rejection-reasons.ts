import type { RejectedLead } from '../../../leads/listed-lead.ts';

/** Maximum number of distinct reasons to keep. */
const MAX_REASONS = 5;

/** Why a poll rejected leads: the first distinct reasons, each with the path of the fault, and the number of leads with other reasons. */
export interface RejectionReasons {
  readonly first: readonly string[];
  readonly others: number;
}

/** The reasons of a poll that has rejected no lead. */
export const NO_REASONS: RejectionReasons = { first: [], others: 0 };

/** Returns the reasons, with that of another rejected lead. */
export function withReason(
  { first, others }: RejectionReasons,
  { path, reason }: Pick<RejectedLead, 'path' | 'reason'>,
): RejectionReasons {
  const text = path ? `${path}: ${reason}` : reason;
  if (first.includes(text)) return { first, others };
  return first.length < MAX_REASONS ? { first: [...first, text], others } : { first, others: others + 1 };
}

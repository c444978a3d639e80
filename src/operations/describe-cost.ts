import type { LeadCost, Quota } from '../leads/quota.ts';
import { countOf, printCount } from '../platform/text/format.ts';
import type { BackfillCost } from './plan.ts';

/**
 * Returns a sentence about what new leads cost of the destination's daily limit, and how much of the limit is left. Says only the cost if the
 * destination has not stated its limit.
 */
export function describeCost({ unit, amount, leads, limit }: LeadCost, quota: Quota | undefined): string {
  const who = leads === 1 ? 'Each new lead costs' : `Up to ${printCount(leads)} new leads at once cost`;
  const cost = `${who} about ${printCount(amount)}`;
  if (quota) {
    const left = printCount(Math.max(0, quota.limit - quota.used));
    return `${cost} of the ${printCount(quota.limit)} ${unit} a day, of which ${left} are left.`;
  }
  return limit === undefined ? `${cost} ${unit}.` : `${cost} of the ${printCount(limit)} ${unit} a day.`;
}

/** Returns what a backfill costs, as a phrase: `about 540,000 tokens: 9 days at 60,000 a day, if nothing else uses them`. */
export function describeBackfill({
  unit,
  amount,
  at_most: isMost,
  daily_limit: limit,
}: BackfillCost): string {
  const about = `${isMost ? 'at most ' : ''}about ${printCount(amount)}`;
  if (limit === undefined)
    return `${about} ${unit} (\`leadsync check\` shows how many the destination allows a day)`;
  if (amount <= limit) return `${about} of the ${printCount(limit)} ${unit} a day`;
  const days = countOf(Math.ceil(amount / limit), 'day', 'days');
  return `${about} ${unit}: ${days} at ${printCount(limit)} a day, if nothing else uses them`;
}

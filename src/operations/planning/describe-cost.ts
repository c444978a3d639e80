import type { LeadCost, Quota } from '../../leads/quota.ts';
import { countOf, printCount } from '../../platform/text/human-readable.ts';
import type { BackfillCost } from './planned-changes.ts';

/**
 * Returns a sentence that says how much of the destination's daily limit new leads use, and how much of the limit is left. The sentence
 * states only what is known.
 */
export function describeCost({ unit, amount, leads, limit }: LeadCost, quota: Quota | undefined): string {
  const who = leads === 1 ? 'Each new lead costs' : `Up to ${printCount(leads)} new leads in one batch cost`;
  const cost = `${who} about ${printCount(amount)}`;
  if (quota) {
    const left = printCount(Math.max(0, quota.limit - quota.used));
    return `${cost} of the ${printCount(quota.limit)} ${unit} a day, of which ${left} are left.`;
  }
  return limit === undefined ? `${cost} ${unit}.` : `${cost} of the ${printCount(limit)} ${unit} a day.`;
}

/**
 * Returns a sentence about the leads that are owed to a sink: `12,000 leads are owed to it, about 540,000 tokens: 18 days at 30,000 a day,
 * if nothing else uses them.` `quota` is the limit that the destination has just reported, if any.
 */
export function describeOwed(leads: number, cost: BackfillCost, quota: Quota | undefined): string {
  const owed = `${countOf(leads, 'lead')} ${leads === 1 ? 'is' : 'are'} owed to it`;
  const limit = quota?.limit ?? cost.daily_limit;
  const costs = limit === undefined ? amountOf(cost) : describeBackfill({ ...cost, daily_limit: limit });
  return `${owed}, ${costs}.`;
}

/** Returns the cost of a backfill, as a phrase: `about 540,000 tokens: 9 days at 60,000 a day, if nothing else uses them`. */
export function describeBackfill(cost: BackfillCost): string {
  const { unit, amount, daily_limit: limit } = cost;
  if (limit === undefined)
    return `${amountOf(cost)} (\`leadsync check\` shows how many the destination allows a day)`;
  if (amount <= limit) return `${aboutOf(cost)} of the ${printCount(limit)} ${unit} a day`;
  const days = countOf(Math.ceil(amount / limit), 'day', 'days');
  return `${amountOf(cost)}: ${days} at ${printCount(limit)} a day, if nothing else uses them`;
}

function amountOf(cost: BackfillCost): string {
  return `${aboutOf(cost)} ${cost.unit}`;
}

function aboutOf({ amount, at_most: isMost }: BackfillCost): string {
  return `${isMost ? 'at most ' : ''}about ${printCount(amount)}`;
}

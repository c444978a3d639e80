import type { DeliveryFilter } from '../contract/ledger-queries.ts';
import { parseDeliveryId } from '../rules/delivering/delivery-id.ts';

/** A filter as an SQL condition. */
export interface FilterSql {
  /** A condition on the rows `d` (delivery), `v` (version) and `s` (sink). Never empty. */
  readonly where: string;
  /** The values of the condition's parameters, in order. */
  readonly values: readonly (string | number | bigint)[];
}

/** Converts a filter to SQL, apart from the conditions of `MEETS_RESULT`. Every value becomes a parameter. */
export function filterSql(filter: DeliveryFilter): FilterSql {
  const terms: [string, ...(string | number | bigint)[]][] = [['1 = 1']];
  if (filter.sink !== undefined) terms.push(['s.sink = ?', filter.sink]);
  if (filter.source !== undefined) terms.push(['v.source = ?', filter.source]);
  if (filter.lead !== undefined) terms.push(['v.id = ?', filter.lead]);
  if (filter.delivery !== undefined) terms.push(deliveryTerm(filter.delivery));
  if (filter.webhookId !== undefined) terms.push(deliveryTerm(filter.webhookId, '>='));
  if (filter.since !== undefined) terms.push(['d.owed_at >= ?', filter.since.getTime()]);
  if (filter.until !== undefined) terms.push(['d.owed_at < ?', filter.until.getTime()]);
  return {
    where: terms.map(([term]) => term).join(' AND '),
    values: terms.flatMap(([, ...values]) => values),
  };
}

/**
 * Returns the condition for a delivery's id, followed by the values of its parameters. A string that is not an id matches no delivery. `>=` also
 * matches an id that the delivery had before another mapping.
 */
function deliveryTerm(text: string, reissued: '=' | '>=' = '='): [string, ...(string | number | bigint)[]] {
  const id = parseDeliveryId(text);
  if (!id) return ['0 = 1'];
  return [
    `coalesce(s.named, s.sink) = ? AND v.source = ? AND v.id = ? AND v.version = ? AND substr(v.hash, 1, 8) = ? AND d.replay = ? AND d.reissued ${reissued} ?`,
    id.nameInIds,
    id.source,
    id.lead,
    id.version,
    id.hash,
    id.replay,
    id.reissued,
  ];
}

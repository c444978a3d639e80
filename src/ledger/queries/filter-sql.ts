import type { DeliveryFilter } from '../contract/ledger-queries.ts';
import { ERASURE } from '../privacy/erasing.ts';

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
  if (filter.since !== undefined) terms.push(['d.owed_at >= ?', filter.since.getTime()]);
  if (filter.until !== undefined) terms.push(['d.owed_at < ?', filter.until.getTime()]);
  return {
    where: terms.map(([term]) => term).join(' AND '),
    values: terms.flatMap(([, ...values]) => values),
  };
}

/**
 * Returns the condition for a delivery's id, followed by the values of its parameters. There is no column for the id, which consists of sink,
 * source, lead, version, the start of the hash and, if they apply, the time of a replay or `erased`, and how many times the id changed because
 * of a new mapping. A string that is not an id matches no delivery.
 */
function deliveryTerm(id: string): [string, ...(string | number | bigint)[]] {
  const match =
    /^([^:]+):([^:]+):(\d{1,19}):(\d{1,9}):([0-9a-f]{8})(?::(?:r(\d{1,15})|(erased)))?(?::m(\d{1,9}))?$/.exec(
      id,
    );
  if (!match) return ['0 = 1'];
  const [, sink, source, lead, version, hash, replay, erased, reissued] = match as unknown as [
    string,
    string,
    string,
    string,
    string,
    string,
    string?,
    string?,
    string?,
  ];
  return [
    'coalesce(s.named, s.sink) = ? AND v.source = ? AND v.id = ? AND v.version = ? AND substr(v.hash, 1, 8) = ? AND d.replay = ? AND d.reissued = ?',
    sink,
    source,
    BigInt.asIntN(64, BigInt(lead)),
    Number(version),
    hash,
    erased ? ERASURE : Number(replay ?? 0),
    Number(reissued ?? 0),
  ];
}

import { type Cursor, inEachOrder } from '../../ledger/rules/queries/keyset-page.ts';
import { statement } from '../database/statement.ts';
import { GONE_AT, PROGRESS } from './lead-rows.ts';

/** A lead in a list, and whether it matches the filter. */
export type ListedLead = Cursor & { readonly source: string; readonly id: string; readonly fits: boolean };

/** `l` is the lead, `c` its present version, and `f` the row by which the list is sorted. */
const COLUMNS = 'l.source, l.id::text AS id, f.at, f.no';
const PRESENT =
  'JOIN _leads l ON l.source = f.source AND l.id = f.id JOIN _versions c ON c.version_no = l.version_no';

/** Whether a lead matches the filter: its source, service, listing and progress ($1 to $4), and a period ($5 and $6). */
const FITS = `(($1::text IS NULL OR l.source = $1) AND ($2::text IS NULL OR c.service_slug = $2)
   AND ($3::text IS NULL OR (l.last_listed_at IS NOT NULL) = ($3 = 'gone'))
   AND CASE WHEN $3 = 'gone' THEN coalesce(${GONE_AT}, 0) ELSE c.first_seen_at END >= $5::bigint
   AND CASE WHEN $3 = 'gone' THEN coalesce(${GONE_AT}, 0) ELSE c.first_seen_at END < $6::bigint
   AND ($4::text IS NULL OR (SELECT n.delivered = n.owed FROM (${PROGRESS}) n) = ($4 = 'everywhere')))`;

const each = (name: string, sql: Readonly<Record<'newest' | 'oldest', string>>) => ({
  newest: statement<ListedLead>(`${name}-newest`, sql.newest),
  oldest: statement<ListedLead>(`${name}-oldest`, sql.oldest),
});

/** The leads in the order in which they were first seen: those seen in the period `$10` to `$11`, after the position `$7`, `$8`. */
export const LEADS = each(
  'leads',
  inEachOrder(
    ({ follows, sorted }) => `SELECT ${COLUMNS}, ${FITS} AS fits FROM (
     SELECT n.* FROM _sources o CROSS JOIN LATERAL (SELECT v.source, v.id, v.valid_from AS at, v.version_no AS no FROM _versions v
       WHERE v.version = 1 AND v.source = o.source AND (v.valid_from, v.version_no) ${follows} ($7::bigint, $8::bigint)
       AND v.valid_from >= $10::bigint AND v.valid_from < $11::bigint
       ORDER BY v.valid_from ${sorted}, v.version_no ${sorted} LIMIT $9) n
     WHERE $1::text IS NULL OR o.source = $1 ORDER BY n.at ${sorted}, n.no ${sorted} LIMIT $9) f ${PRESENT} ORDER BY f.at ${sorted}, f.no ${sorted}`,
  ),
);

/** The leads that are no longer listed, by `presence_no` instead of by time, so that a clock that was set back does not change the order. */
export const GONE_LEADS = each(
  'gone-leads',
  inEachOrder(
    ({ follows, sorted }) => `SELECT ${COLUMNS}, (l.erased_no IS NULL AND ${FITS}) AS fits FROM (
     SELECT n.* FROM _sources o CROSS JOIN LATERAL (SELECT g.source, g.id, 0 AS at, g.presence_no AS no FROM _presence g
       WHERE g.source = o.source AND g.last_listed_at IS NOT NULL AND g.presence_no ${follows} $7::bigint
       ORDER BY g.presence_no ${sorted} LIMIT $8) n
     WHERE $1::text IS NULL OR o.source = $1 ORDER BY n.no ${sorted} LIMIT $8) f ${PRESENT} ORDER BY f.no ${sorted}`,
  ),
);

/**
 * The leads of a service, by version numbers `$9` to `$10` and the period `$11` to `$12`. A lead that left a service and returned to it is listed
 * by its first version in that service.
 */
export const SERVICE_LEADS = each(
  'service-leads',
  inEachOrder(
    ({
      follows,
      sorted,
    }) => `SELECT ${COLUMNS}, (${FITS} AND f.came_at >= $11::bigint AND f.came_at < $12::bigint
     AND (f.version = 1 OR NOT EXISTS (SELECT 1 FROM _versions e WHERE e.source = f.source AND e.id = f.id AND e.version < f.version
       AND e.service_slug = $2))) AS fits FROM (
     SELECT v.source, v.id, v.version, v.valid_from AS came_at, v.version_no AS at, 1 AS no FROM _versions v
     WHERE v.service_slug COLLATE "C" = $2 AND v.version_no >= $9::bigint AND v.version_no < $10::bigint AND v.version_no ${follows} $7::bigint
     ORDER BY v.version_no ${sorted} LIMIT $8) f ${PRESENT} ORDER BY f.at ${sorted}`,
  ),
);

/** The leads with an id, one for each source. */
export const NAMED_LEADS = statement<ListedLead>(
  'named-leads',
  `SELECT l.source, l.id::text AS id, c.first_seen_at AS at, l.first_no AS no, ${FITS} AS fits
   FROM _sources o JOIN _leads l ON l.source = o.source AND l.id = $7::bigint JOIN _versions c ON c.version_no = l.version_no
   WHERE $1::text IS NULL OR o.source = $1`,
);

/** The number of leads that were first seen in a period, up to a maximum. */
export const COUNT_LEADS = statement<{ leads: number }>(
  'count-listed-leads',
  `SELECT count(*) AS leads FROM (SELECT 1 FROM _sources o CROSS JOIN LATERAL (SELECT 1 FROM _versions v WHERE v.version = 1
     AND v.source = o.source AND v.valid_from >= $2::bigint AND v.valid_from < $3::bigint LIMIT $4) n
   WHERE $1::text IS NULL OR o.source = $1 LIMIT $4) c`,
);

/** The number of the newest version. */
export const NEWEST = statement<{ no: number | null }>(
  'newest-version-of-all',
  'SELECT max(version_no) AS no FROM _versions',
);

/** When the first version from a number on was recorded, in ms. */
export const CAME_AT = statement<{ at: number }>(
  'version-came-at',
  'SELECT valid_from AS at FROM _versions WHERE version_no >= $1 ORDER BY version_no LIMIT 1',
);

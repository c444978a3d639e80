import { statement } from '../database/statement.ts';
import type { Transaction } from '../database/transaction.ts';

const HOUR_MS = 3_600_000;

/** Returns how many leads were first seen in each of the last `hours` hours, oldest first. The last hour is the one that contains `now`. */
export async function newLeads(
  tx: Transaction,
  now: Date,
  hours: number,
): Promise<{ readonly hour: Date; readonly leads: number }[]> {
  const first = Math.floor(now.getTime() / HOUR_MS) - hours + 1;
  const starts = Array.from({ length: hours }, (_, index) => (first + index) * HOUR_MS);
  const rows = await tx.rows(NEW_LEADS, [starts, HOUR_MS]);
  return rows.map(({ at, leads }) => ({ hour: new Date(at), leads }));
}

/** Returns the services that leads are or were for, in the order of their bytes, up to `most`. */
export async function services(tx: Transaction, most: number): Promise<string[]> {
  return (await tx.rows(SERVICES, [most])).map(({ slug }) => slug);
}

const NEW_LEADS = statement<{ at: number; leads: number }>(
  'new-leads-by-hour',
  `SELECT h.at, coalesce(sum(n.leads), 0)::bigint AS leads FROM unnest($1::bigint[]) AS h (at) LEFT JOIN LATERAL (
     SELECT c.leads FROM _sources o CROSS JOIN LATERAL (SELECT count(*) AS leads FROM _versions v
       WHERE v.version = 1 AND v.source = o.source AND v.valid_from >= h.at AND v.valid_from < h.at + $2::bigint) c) n ON true
   GROUP BY h.at ORDER BY h.at`,
);
// Jumps from each service to the next one in the index, however many leads a service has.
const SERVICES = statement<{ slug: string }>(
  'services',
  `WITH RECURSIVE found (slug) AS ((SELECT min(service_slug COLLATE "C") FROM _versions)
   UNION ALL SELECT (SELECT min(v.service_slug COLLATE "C") FROM _versions v WHERE v.service_slug COLLATE "C" > f.slug COLLATE "C")
     FROM found f WHERE f.slug IS NOT NULL)
   SELECT slug FROM found WHERE slug IS NOT NULL LIMIT $1`,
);

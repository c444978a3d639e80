import { type Query, since } from '../query.ts';

/** Returns one row for each service. Counts leads, so a client with two leads counts twice. */
export const reachability: Query = {
  name: 'reachability',
  asks: 'For how many leads can the client be reached, and how?',
  notes:
    'Counts contact details that are present, not whether they are correct. Omits leads whose content `retention` has removed.',
  parameters: [since],
  sql: `
WITH recent AS MATERIALIZED (
  SELECT source, id FROM v_leads_no_pii WHERE created_at >= :since
), reach AS (
  SELECT l.service_slug, CAST(l.has_email AS integer) AS email, CAST(l.has_phone AS integer) AS phone,
    CAST(l.has_address AS integer) AS address
  FROM recent CROSS JOIN v_leads_no_pii l
  WHERE l.source = recent.source AND l.id = recent.id AND l.has_email IS NOT NULL
)
SELECT service_slug, count(*) AS leads, sum(email) AS with_email, sum(phone) AS with_phone,
  sum(email * phone) AS with_both, sum((1 - email) * (1 - phone)) AS with_neither, sum(address) AS with_address
FROM reach
GROUP BY service_slug
ORDER BY service_slug`,
};

import { type Query, since } from '../query.ts';

/** Returns one row for each service, question and answer, with the most frequent answer to each question first. */
export const answers: Query = {
  name: 'answers',
  asks: 'What do clients answer?',
  notes: 'A lead that answers a question several times counts for each answer. Free text produces many rows.',
  parameters: [since],
  sql: `
WITH recent AS MATERIALIZED (
  SELECT source, id, service_slug FROM v_leads_no_pii WHERE created_at >= :since
)
SELECT recent.service_slug, a.slug AS question_slug, a.answer, count(*) AS answers
FROM recent CROSS JOIN lead_answers a
WHERE a.source = recent.source AND a.lead_id = recent.id
GROUP BY recent.service_slug, a.slug, a.answer
ORDER BY recent.service_slug, question_slug, answers DESC, a.answer`,
};

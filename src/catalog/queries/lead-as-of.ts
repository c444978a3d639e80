import type { Query } from '../query.ts';

/** Returns at most one row, because a version is valid from `valid_from` up to, but not including, `valid_to`. */
export const leadAsOf: Query = {
  name: 'lead-as-of',
  asks: 'What was the content of a lead at a certain time?',
  notes: 'No row means that the lead had not been listed by then. The text is personal data.',
  parameters: [
    { name: 'source', type: 'text', means: 'the source that listed the lead', example: 'main' },
    { name: 'lead', type: 'id', means: "the lead's id", example: '42' },
    { name: 'at', type: 'time', means: 'the time', example: '2026-11-20T10:00:00.000Z' },
  ],
  sql: `
SELECT version, valid_from, valid_to, changed_fields, raw
FROM lead_versions
WHERE source = :source AND lead_id = :lead AND valid_from <= :at AND (valid_to IS NULL OR valid_to > :at)`,
};

import { hash } from 'node:crypto';
import type { Delivery, LeadEvent } from '../leads/delivery.ts';
import type { SampleChanges } from './options.ts';

/** When the sample lead was created and first seen. */
const CREATED_AT = '2026-03-02T09:15:00.000Z';

/** The lead from which every test of a mapping starts. docs/mapping.md shows it. */
const SAMPLE_LEAD = {
  id: 4711,
  service_name: 'Plumbing',
  service_slug: 'plumbing',
  created_at: CREATED_AT,
  client_name: 'Jane Citizen',
  client_email: 'jane.citizen@mail.example.org',
  client_phone_number: '0412 345 678',
  client_address: { friendly_address: '12 Harbour Street, Newtown, 2042, NSW' },
  service_question_answers: [
    { question: 'How many bedrooms are there?', slug: 'bedrooms', answer: '3' },
    { question: 'When do you need it?', slug: 'when', answer: 'this week' },
  ],
  all_details_one_liner: 'Plumbing for Jane Citizen in Newtown, this week',
};

/** Returns a delivery of the sample lead with the changes that a test makes. */
export function sampleDelivery(
  changes: SampleChanges,
  event: Exclude<LeadEvent, 'erased'> = 'created',
): Delivery {
  const { answers, address, raw: unknown, source = 'main', id = SAMPLE_LEAD.id, ...fields } = changes;
  const lead = {
    ...SAMPLE_LEAD,
    ...unknown,
    ...fields,
    id,
    ...(address === undefined
      ? {}
      : { client_address: address === null ? null : { friendly_address: address } }),
    ...(answers === undefined ? {} : { service_question_answers: questionsOf(answers) }),
  };
  const raw = JSON.stringify(lead);
  const at = new Date(CREATED_AT);
  return {
    id: `sample:${source}:${id}`,
    source,
    leadId: BigInt(id),
    version: event === 'created' ? 1 : 2,
    event,
    replay: false,
    firstSeenAt: at,
    changedAt: at,
    hash: hash('sha256', raw).slice(0, 32),
    raw,
  };
}

/** Returns answers as the service lists them. A list of answers repeats its slug. */
function questionsOf(answers: Readonly<Record<string, string | readonly string[]>>) {
  const known = new Map(SAMPLE_LEAD.service_question_answers.map(({ slug, question }) => [slug, question]));
  return Object.entries(answers).flatMap(([slug, given]) =>
    [given].flat().map((answer) => ({ question: known.get(slug) ?? slug, slug, answer })),
  );
}

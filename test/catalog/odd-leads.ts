import type { ListedItem } from '../../src/leads/listed-lead.ts';
import { aListedLead } from '../support/scene/a-lead.ts';

/** The beginning of the tests' clock. */
const DAY = '2026-11-20';

/** Leads that are hard on a store, and that every store has to show alike. */
export function oddLeads(): ListedItem[] {
  const answer = (slug: string, text: string) => ({ question: `${slug}?`, slug, answer: text });
  return [
    aListedLead({ id: 1, created_at: `${DAY}T09:59:30.123Z` }),
    aListedLead({
      id: 2,
      created_at: `${DAY}T20:29:30+10:30`,
      client_name: 'a\0b',
      client_email: ' ANNA.mueller@example.com',
    }),
    aListedLead({ id: 3, created_at: `${DAY}t09:00`, client_phone_number: '\ud800', client_email: '' }),
    aListedLead({
      id: 4,
      created_at: `${DAY} 05:00:00,5-0330`,
      client_address: null,
      client_email: '',
      client_phone_number: '',
    }),
    aListedLead({ id: 2n ** 53n + 1n, created_at: `${DAY}T23:59:60-05`, service_slug: 'garden\0ing' }),
    aListedLead({
      id: 2n ** 63n - 1n,
      created_at: `2026-11-14T00:00:00.0009999Z`,
      client_email: '',
      client_phone_number: '0061 (2) 123',
    }),
    aListedLead({
      id: 7,
      created_at: '2026-11-16T13:00:00Z',
      client_email: '',
      client_phone_number: '+612123',
    }),
    aListedLead({
      id: 8,
      created_at: '2020-02-29T12:00:00Z',
      service_question_answers: [
        answer('rooms', 'kitchen'),
        answer('rooms', 'ba\0th'),
        answer('__proto__', '\udfff'),
        answer('', ''),
      ],
    }),
    aListedLead({ id: 9, created_at: '2026-11-19T12:00:00Z', service_question_answers: [] }),
    aListedLead({
      id: 10,
      created_at: '1969-12-31T23:30:00Z',
      extra: { 'a\0': ['\ud83d'] },
      client_name: "'); DROP TABLE leads; --",
    }),
    rejected(aListedLead({ id: 11, created_at: undefined })),
    rejected(aListedLead({ id: 12, created_at: 'yes\0terday' })),
  ];
}

function rejected(item: ListedItem): ListedItem {
  return { ...item, kind: 'rejected', reason: 'is missing', path: 'created_at' };
}

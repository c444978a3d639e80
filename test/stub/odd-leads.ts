import type { Element } from './shown-leads.ts';

type Fields = Record<string, unknown>;

const REQUIRED = [
  'id',
  'service_name',
  'service_slug',
  'created_at',
  'client_name',
  'client_email',
  'client_phone_number',
  'client_address',
  'service_question_answers',
  'all_details_one_liner',
] as const;

/** First id of the leads below, far from generated ones. */
const ODD_LEADS_FROM = 7_000_000;

/** Builds a lead that follows the description, with its own id and these fields. */
function plainLead(id: number, fields: Fields = {}): Fields {
  return {
    id,
    service_name: 'Odd Jobs',
    service_slug: 'odd-jobs',
    created_at: '2026-02-03T04:05:06.000Z',
    client_name: 'Otto Odd',
    client_email: 'otto@example.com',
    client_phone_number: '+61 400 000 000',
    client_address: { friendly_address: 'Oddtown, TAS, 7000' },
    service_question_answers: [{ question: 'What is odd?', slug: 'what_is_odd', answer: 'This lead' }],
    all_details_one_liner: 'What is odd?\nThis lead\n--\nAddress: Oddtown, TAS, 7000\n',
    ...fields,
  };
}

/** Leads with an odd id, by what is odd. The id's text is inserted as written. */
const oddIds: Readonly<Record<string, string>> = {
  text: withIdText('"7000100"'),
  null: withIdText('null'),
  missing: JSON.stringify(without(plainLead(1), 'id')),
  negative: withIdText('-7000103'),
  zero: withIdText('0'),
  'with a fraction of zero': withIdText('7000105.0'),
  'with a fraction': withIdText('7000106.5'),
  'with an exponent': withIdText('7e6'),
  'above 2^53': withIdText('9007199254740993'),
  'the largest there is': withIdText('9223372036854775807'),
  'above 2^63': withIdText('9223372036854775809'),
  true: withIdText('true'),
};

/** Leads that break the description: each field missing, null (where not allowed) and of the wrong type. */
export function brokenLeads(): { readonly what: string; readonly text: string }[] {
  const broken: { what: string; text: string }[] = [];
  let id = ODD_LEADS_FROM + 1_000;
  const add = (what: string, fields: Fields) => broken.push({ what, text: JSON.stringify(fields) });
  for (const field of REQUIRED.filter((name) => name !== 'id')) {
    add(`${field} is missing`, without(plainLead(id++), field));
    if (field !== 'client_address') add(`${field} is null`, plainLead(id++, { [field]: null }));
    add(`${field} is a number`, plainLead(id++, { [field]: 42 }));
    add(`${field} is an array of numbers`, plainLead(id++, { [field]: [1, 2] }));
  }
  add('client_address is {}', plainLead(id++, { client_address: {} }));
  add('friendly_address is null', plainLead(id++, { client_address: { friendly_address: null } }));
  for (const part of ['question', 'slug', 'answer']) {
    const answer: Fields = { question: 'Why?', slug: 'why', answer: 'Because' };
    add(
      `an answer lacks its ${part}`,
      plainLead(id++, { service_question_answers: [without(answer, part)] }),
    );
    add(
      `an answer's ${part} is null`,
      plainLead(id++, { service_question_answers: [{ ...answer, [part]: null }] }),
    );
  }
  broken.push(
    { what: 'a number', text: '17' },
    { what: 'null', text: 'null' },
    { what: 'an array', text: '[]' },
  );
  return broken;
}

/** Leads that follow the description but are hard to process. */
export function unusualLeads(): { readonly what: string; readonly text: string }[] {
  let id = ODD_LEADS_FROM + 2_000;
  const answers = (answer: string) => [{ question: 'Why?', slug: 'why', answer }];
  const unusual = (what: string, fields: Fields) => ({ what, text: JSON.stringify(plainLead(id++, fields)) });
  return [
    unusual('unknown fields', { urgency: 'high', tags: ['a', 'b'], budget: { min: 100, max: null } }),
    unusual('no address', { client_address: null }),
    unusual('an address with more fields', {
      client_address: { friendly_address: 'Oddtown', lat: -42.88, lng: 147.33 },
    }),
    unusual('no answers', { service_question_answers: [] }),
    unusual('empty texts', { client_name: '', client_email: '', service_question_answers: answers('') }),
    unusual('a NUL in an answer', { service_question_answers: answers('before\u0000after') }),
    unusual('half of a surrogate pair', { service_question_answers: answers('before\ud800after') }),
    unusual('formulas', { client_name: '=HYPERLINK("http://example.com","x")', client_email: '@SUM(1+1)' }),
    unusual('markup', {
      client_name: '<script>alert(1)</script>',
      service_name: "Robert'); DROP TABLE leads;--",
    }),
    unusual('terminal escapes', {
      client_name: '\u001b[2J\u001b]0;gone\u0007',
      client_email: 'a\r\nb@example.com',
    }),
    unusual('right-to-left override', { client_name: '\u202egnp.exe' }),
    {
      what: 'space around everything',
      text: `\n { "id" : ${id++} , ${JSON.stringify(without(plainLead(0), 'id')).slice(1)} \t`,
    },
  ];
}

/** Every odd but readable listing: a function from the correct elements to the elements shown. */
export const oddListings = {
  empty: () => [],
  /** Shows the first half. */
  shrunk: (elements) => elements.slice(0, Math.floor(elements.length / 2)),
  /** Shows the first quarter. */
  quartered: (elements) => elements.slice(0, Math.floor(elements.length / 4)),
  /** Shows the elements in a different order each time. */
  shuffled: (elements) => shuffled(elements),
  reversed: (elements) => elements.toReversed(),
  /** Shows the first lead twice, with the same text. */
  'repeated-id': (elements) => [...elements, ...elements.slice(0, 1)],
  /** Shows the first lead twice, the second time with a different text. */
  'repeated-id-changed': (elements) => [...elements, ...elements.slice(0, 1).map(changed)],
  'odd-ids': (elements) => [...elements, ...Object.values(oddIds).map(raw)],
  'broken-leads': (elements) => [...elements, ...brokenLeads().map(({ text }) => raw(text))],
  'unusual-leads': (elements) => [...elements, ...unusualLeads().map(({ text }) => raw(text))],
  /** Shows a lead of 50 MB at the end. */
  'huge-lead': (elements) => [...elements, raw(hugeLead())],
} as const satisfies Record<string, (elements: readonly Element[]) => readonly Element[]>;

export type OddListingName = keyof typeof oddListings;

/** Returns a lead with an answer of 50 MB. */
function hugeLead(): string {
  const answer = 'A long story. '.repeat((50 * 1024 * 1024) / 14);
  return JSON.stringify(
    plainLead(ODD_LEADS_FROM + 3_000, {
      service_question_answers: [{ question: 'Why?', slug: 'why', answer }],
    }),
  );
}

function raw(text: string): Element {
  return { raw: text };
}

function changed(element: Element): Element {
  return 'raw' in element
    ? { raw: element.raw.replace('{', '{ ') }
    : { ...element, version: element.version + 1 };
}

function shuffled(elements: readonly Element[]): Element[] {
  return elements
    .map((element) => ({ element, place: Math.random() }))
    .sort((a, b) => a.place - b.place)
    .map(({ element }) => element);
}

function withIdText(text: string): string {
  return `{"id":${text},${JSON.stringify(without(plainLead(0), 'id')).slice(1)}`;
}

function without(fields: Fields, field: string): Fields {
  const { [field]: _, ...rest } = fields;
  return rest;
}

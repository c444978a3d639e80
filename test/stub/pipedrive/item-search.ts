import type { ApiRequest, Handler } from './api-request.ts';
import type { Company } from './company.ts';
import { cursorPage, pageParameters } from './paging.ts';
import { aText, checkQuery, oneOf } from './parameters.ts';
import type { IndexedRecord } from './record-search.ts';
import type { Person } from './records.ts';
import { invalidV2, Refusal } from './vendor-answer.ts';

const TYPES = ['person', 'lead', 'deal'];
const MAX_LIMIT = 100;

/** Returns the search of several types of records at once. The stub has persons, leads and deals, and searches custom fields alone. */
export function itemSearch(company: Company): Handler {
  return ({ query }: ApiRequest) => {
    checkQuery(
      query,
      {
        ...pageParameters,
        term: aText(255),
        item_types: () => undefined,
        fields: oneOf('custom_fields'),
        exact_match: oneOf('true', 'false'),
      },
      ['term', 'fields'],
    );
    const types = query.get('item_types')?.split(',') ?? TYPES;
    if (types.some((type) => !TYPES.includes(type)))
      throw new Refusal(invalidV2([`item_types: must be one of [${TYPES.join(', ')}]`]));
    if (Number(query.get('limit') ?? MAX_LIMIT) > MAX_LIMIT)
      throw new Refusal(invalidV2([`limit: must be 1 to ${MAX_LIMIT}`]));
    const term = query.get('term') ?? '';
    const exact = query.get('exact_match') === 'true';
    if (!exact && term.length < 2) throw new Refusal(invalidV2(['term: must have at least 2 characters']));
    const persons = company.search.find(term, ['custom_fields'], exact).map(personItem);
    const records = company.recordSearch.find(term, exact).map((found) => recordItem(found, company));
    const found = [...persons, ...records].filter(({ type }) => types.includes(type));
    const page = cursorPage(
      found,
      ({ type, id }) => `${type} ${id}`,
      query,
      (item) => ({
        result_score: 1,
        item,
      }),
    );
    const { data, ...rest } = page.body as { data: unknown };
    return { ...page, body: { ...rest, data: { items: data, related_items: [] } } };
  };
}

function personItem({ id, name, custom_fields: values }: Person) {
  return { id, type: 'person', name, custom_fields: textsOf(values), notes: [] };
}

function recordItem({ type, record }: IndexedRecord, { persons }: Company) {
  const { id, title, person_id: personId, is_archived, custom_fields: values } = record;
  const person = personId === null ? undefined : persons.get(personId);
  return {
    id,
    type,
    title,
    person: person ? { id: person.id, name: person.name } : null,
    organization: null,
    custom_fields: textsOf(values),
    notes: [],
    is_archived,
  };
}

function textsOf(values: Readonly<Record<string, unknown>>): string[] {
  return Object.values(values).filter((value) => typeof value === 'string');
}

import { type ApiRequest, type Handler, succeeded } from './api-request.ts';
import { type Company, ME } from './company.ts';
import { shownInV2, valuesOfV2 } from './field-values.ts';
import { idsOf, listParameters, selected, sorted } from './lists.ts';
import { cursorPage, pageParameters } from './paging.ts';
import {
  aBoolean,
  anInteger,
  anIntegerText,
  anObject,
  aText,
  type Body,
  checkQuery,
  checkV2,
  listOf,
  oneOf,
  shape,
} from './parameters.ts';
import type { SearchField } from './person-search.ts';
import type { ContactValue, Person } from './records.ts';
import { fixedAnswers, invalidV2, notFound, Refusal } from './vendor-answer.ts';

const CONTACT_SYNC = ['im', 'postal_address', 'notes', 'birthday', 'job_title'];
const SEARCH_FIELDS: readonly SearchField[] = ['name', 'email', 'phone', 'custom_fields', 'notes'];

const contact = shape({ value: aText(255), primary: aBoolean, label: aText(255) }, 'value');

const changeable = {
  name: aText(255),
  owner_id: anInteger,
  org_id: anInteger,
  emails: listOf(contact),
  phones: listOf(contact),
  visible_to: oneOf(1, 3, 5, 7),
  label_ids: listOf(anInteger),
  marketing_status: oneOf('no_consent', 'unsubscribed', 'subscribed', 'archived'),
  custom_fields: anObject,
  im: listOf(contact),
  postal_address: shape({
    value: aText(255),
    country: aText(255),
    locality: aText(255),
    postal_code: aText(255),
  }),
  notes: aText(10_000),
  birthday: aText(10),
  job_title: aText(255),
};

/** Returns the operations on persons. Nothing about a person is unique: two POSTs make two. */
export function personHandlers(company: Company) {
  const find = (id: string): Person => {
    const person = company.persons.get(Number(id));
    if (person === undefined) throw new Refusal(notFound());
    if (!person.is_deleted) return person;
    throw new Refusal(company.settings.deletedStatus === 410 ? fixedAnswers.gone : notFound());
  };

  const show = (person: Person) => shownInV2(person, company.personFields);

  const create = ({ body }: ApiRequest) => {
    checkV2(body, { ...changeable, add_time: aText(30) }, ['name']);
    const sent = sentOf(body, company);
    const now = company.now();
    const person: Person = {
      id: company.nextId(),
      owner_id: ME,
      org_id: null,
      add_time: now,
      emails: [],
      phones: [],
      is_deleted: false,
      visible_to: 3,
      label_ids: [],
      picture_id: null,
      ...sent,
      ...namesOf(String(body['name'])),
      update_time: now,
    };
    return succeeded(show(company.storePerson(person)), company.settings.createdStatus);
  };

  const update = ({ id, body }: ApiRequest) => {
    const person = find(id);
    checkV2(body, changeable);
    const { custom_fields, ...sent } = sentOf(body, company);
    const changed = company.storePerson({
      ...person,
      ...sent,
      ...(body['name'] === undefined ? {} : namesOf(String(body['name']))),
      custom_fields: { ...person.custom_fields, ...custom_fields },
      update_time: company.now(),
    });
    return succeeded(show(changed));
  };

  const remove = ({ id }: ApiRequest) => {
    if (!company.settings.mayDelete) throw new Refusal(fixedAnswers.forbidden);
    const person = find(id);
    company.storePerson({ ...person, is_deleted: true, update_time: company.now() });
    return succeeded({ id: person.id });
  };

  const list = ({ query }: ApiRequest) => {
    checkQuery(query, { ...listParameters, deal_id: anIntegerText });
    const since = query.get('updated_since');
    const ids = idsOf(query);
    const candidates = ids
      ? ids.flatMap((id) => company.persons.get(id) ?? [])
      : since === null
        ? [...company.persons.values()]
        : company.personsSince(since);
    const persons = selected(candidates, query).filter(({ is_deleted }) => !is_deleted);
    return cursorPage(sorted(persons, query), ({ id }) => id, query, show);
  };

  const search = ({ query }: ApiRequest) => {
    const exactMatch = oneOf('true', 'false');
    checkQuery(
      query,
      {
        ...pageParameters,
        term: aText(255),
        fields: () => undefined,
        exact_match: exactMatch,
        organization_id: anIntegerText,
        include_fields: () => undefined,
      },
      ['term'],
    );
    const exact = query.get('exact_match') === 'true';
    const term = query.get('term') ?? '';
    if (!exact && term.length < 2) throw new Refusal(invalidV2(['term: must have at least 2 characters']));
    const found = company.search.find(term, searchFieldsOf(query), exact);
    const page = cursorPage(found, ({ id }) => id, query, itemOf);
    const { data, ...rest } = page.body as { data: unknown };
    return { ...page, body: { ...rest, data: { items: data } } };
  };

  return {
    'GET /persons/search': search,
    'GET /persons': list,
    'POST /persons': create,
    'GET /persons/{id}': ({ id }: ApiRequest) => {
      const deleted = company.settings.deletedStatus === 200 ? company.persons.get(Number(id)) : undefined;
      return succeeded(show(deleted ?? find(id)));
    },
    'PATCH /persons/{id}': update,
    'DELETE /persons/{id}': remove,
  } satisfies Record<string, Handler>;
}

/** Returns what a checked body sets. @throws Refusal for what only the company's state forbids */
function sentOf(body: Body, company: Company) {
  const { custom_fields, emails, phones, ...rest } = body;
  if (!company.settings.contactSync && CONTACT_SYNC.some((name) => name in body)) {
    throw new Refusal(fixedAnswers.contactSyncMissing);
  }
  company.requireLinks('v2', { owner_id: body['owner_id'], org_id: body['org_id'] });
  return {
    ...rest,
    ...(emails === undefined ? {} : { emails: contactsOf(emails as Partial<ContactValue>[]) }),
    ...(phones === undefined ? {} : { phones: contactsOf(phones as Partial<ContactValue>[]) }),
    custom_fields: valuesOfV2(custom_fields, company.personFields, company.settings),
  };
}

function contactsOf(contacts: readonly Partial<ContactValue>[]): ContactValue[] {
  const first = Math.max(
    0,
    contacts.findIndex(({ primary }) => primary),
  );
  return contacts.map(({ value = '', label = 'work' }, at) => ({ value, primary: at === first, label }));
}

function namesOf(name: string) {
  const [first = name, ...rest] = name.trim().split(/\s+/);
  return { name, first_name: first, last_name: rest.length > 0 ? rest.join(' ') : null };
}

function searchFieldsOf(query: URLSearchParams): readonly SearchField[] {
  const asked = query.get('fields')?.split(',') ?? SEARCH_FIELDS;
  const unknown = asked.find((field) => !SEARCH_FIELDS.includes(field as SearchField));
  if (unknown !== undefined)
    throw new Refusal(invalidV2([`fields: must be one of [${SEARCH_FIELDS.join(', ')}]`]));
  return asked as readonly SearchField[];
}

function itemOf({ id, name, emails, phones, visible_to, owner_id }: Person) {
  return {
    result_score: 1,
    item: {
      id,
      type: 'person',
      name,
      phones: phones.map(({ value }) => value),
      emails: emails.map(({ value }) => value),
      visible_to,
      owner: { id: owner_id },
      organization: null,
      custom_fields: [],
      notes: [],
    },
  };
}

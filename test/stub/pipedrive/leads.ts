import { randomUUID } from 'node:crypto';
import { type ApiRequest, type Handler, succeeded } from './api-request.ts';
import { type Company, ME } from './company.ts';
import { isCurrency, shownInV1, valuesOfV1 } from './field-values.ts';
import { numberOf } from './lists.ts';
import { offsetPage } from './paging.ts';
import {
  aBoolean,
  aDate,
  aNumber,
  anInteger,
  aText,
  type Body,
  checkV1,
  listOf,
  oneOf,
  orNull,
  shape,
} from './parameters.ts';
import type { Lead } from './records.ts';
import { capped, fixedAnswers, invalidV1, Refusal } from './vendor-answer.ts';

const currency = (value: unknown) => (isCurrency(value) ? undefined : 'must be a valid currency');

/** `origin_id` is not among them: it is set once. */
const changeable = {
  title: aText(255),
  owner_id: anInteger,
  label_ids: listOf(aText(36)),
  person_id: orNull(anInteger),
  organization_id: orNull(anInteger),
  value: orNull(shape({ amount: aNumber, currency }, 'amount', 'currency')),
  expected_close_date: orNull(aDate),
  visible_to: oneOf('1', '3', '5', '7'),
  was_seen: aBoolean,
  channel: orNull(anInteger),
  channel_id: orNull(aText(255)),
};

/** Returns the operations on leads. Their custom fields are those of deals; nothing about a lead is unique. */
export function leadHandlers(company: Company) {
  const { settings } = company;

  const find = (id: string): Lead => {
    const lead = company.leads.get(id);
    if (lead === undefined) throw new Refusal(fixedAnswers.leadNotFound);
    return lead;
  };

  const show = ({ custom_fields, ...lead }: Lead) => ({
    ...lead,
    ...shownInV1(custom_fields, company.dealFields),
  });

  const check = (body: Body) => {
    company.requireLinks('v1', {
      owner_id: body['owner_id'],
      person_id: body['person_id'],
      organization_id: body['organization_id'],
    });
    const labels = (body['label_ids'] ?? []) as readonly string[];
    const isUnknown = labels.some((id) => !company.leadLabels.some((label) => label.id === id));
    if (isUnknown) throw new Refusal(invalidV1('"label_ids" contains a label that does not exist'));
  };

  const create = ({ body }: ApiRequest) => {
    const { values, rest } = valuesOfV1(body, company.dealFields, settings);
    checkV1(rest, { ...changeable, origin_id: orNull(aText(255)) }, ['title']);
    requireContact(rest['person_id'], rest['organization_id']);
    check(rest);
    if (settings.leadsLeft <= 0) throw new Refusal(capped('leads'));
    settings.leadsLeft -= 1;
    const now = company.nowMs();
    const lead = company.storeLead({
      id: randomUUID(),
      title: String(rest['title']),
      owner_id: ME,
      creator_id: ME,
      label_ids: [],
      person_id: null,
      organization_id: null,
      source_name: 'API',
      origin: 'API',
      origin_id: null,
      channel: null,
      channel_id: null,
      is_archived: false,
      was_seen: false,
      value: null,
      expected_close_date: null,
      next_activity_id: null,
      visible_to: '3',
      cc_email: 'example+1+lead@pipedrivemail.example',
      ...rest,
      add_time: now,
      update_time: now,
      custom_fields: values,
    });
    return succeeded(show(lead), 201);
  };

  const update = ({ id, body }: ApiRequest) => {
    const lead = find(id);
    if (lead.is_archived) throw new Refusal(fixedAnswers.leadNotFound);
    const { values, rest } = valuesOfV1(body, company.dealFields, settings);
    checkV1(rest, { ...changeable, is_archived: aBoolean });
    check(rest);
    const changed: Lead = {
      ...lead,
      ...rest,
      custom_fields: { ...lead.custom_fields, ...values },
      update_time: company.nowMs(),
    };
    requireContact(changed.person_id, changed.organization_id);
    return succeeded(show(company.storeLead(changed)));
  };

  const remove = ({ id }: ApiRequest) => {
    if (!settings.mayDelete) throw new Refusal(fixedAnswers.forbidden);
    company.removeLead(find(id).id);
    return succeeded({ id });
  };

  const list =
    (archived: boolean): Handler =>
    ({ query }) => {
      const owner = numberOf(query, 'owner_id');
      const organization = numberOf(query, 'organization_id');
      const since = query.get('updated_since');
      const leads = company
        .leadsOf(numberOf(query, 'person_id'))
        .filter(
          (lead) =>
            lead.is_archived === archived &&
            (owner === undefined || lead.owner_id === owner) &&
            (organization === undefined || lead.organization_id === organization) &&
            (since === null || Date.parse(lead.update_time) >= Date.parse(since)),
        );
      return offsetPage(leads.map(show), query);
    };

  return {
    'GET /leads': list(false),
    'GET /leads/archived': list(true),
    'POST /leads': create,
    'GET /leads/{id}': ({ id }: ApiRequest) => succeeded(show(find(id))),
    'PATCH /leads/{id}': update,
    'DELETE /leads/{id}': remove,
  } satisfies Record<string, Handler>;
}

function requireContact(person: unknown, organization: unknown): void {
  if ((person ?? null) === null && (organization ?? null) === null) {
    throw new Refusal(invalidV1('"value" must contain at least one of [person_id, organization_id]'));
  }
}

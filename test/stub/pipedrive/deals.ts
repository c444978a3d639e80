import { type ApiRequest, type Handler, succeeded } from './api-request.ts';
import { type Company, ME } from './company.ts';
import { isCurrency, shownInV2, valuesOfV2 } from './field-values.ts';
import { idsOf, listParameters, numberOf, selected, sorted } from './lists.ts';
import { cursorPage } from './paging.ts';
import {
  aBoolean,
  aDate,
  aNumber,
  anInteger,
  anIntegerText,
  anObject,
  aText,
  type Body,
  checkQuery,
  checkV2,
  listOf,
  oneOf,
  orNull,
} from './parameters.ts';
import type { Deal } from './records.ts';
import { capped, fixedAnswers, invalidV2, notFound, Refusal } from './vendor-answer.ts';

const changeable = {
  title: aText(255),
  owner_id: anInteger,
  person_id: anInteger,
  org_id: anInteger,
  pipeline_id: anInteger,
  stage_id: anInteger,
  value: aNumber,
  currency: (value: unknown) => (isCurrency(value) ? undefined : 'is not a valid currency'),
  is_deleted: aBoolean,
  is_archived: aBoolean,
  archive_time: aText(30),
  status: oneOf('open', 'won', 'lost'),
  probability: orNull(aNumber),
  lost_reason: orNull(aText(150)),
  visible_to: oneOf(1, 3, 5, 7),
  close_time: orNull(aText(30)),
  won_time: aText(30),
  lost_time: aText(30),
  expected_close_date: aDate,
  label_ids: listOf(anInteger),
  custom_fields: anObject,
};

/** Returns the operations on deals. Nothing about a deal is unique: two POSTs make two. */
export function dealHandlers(company: Company) {
  const { settings } = company;

  const find = (id: string): Deal => {
    const deal = company.deals.get(Number(id));
    if (deal === undefined) throw new Refusal(notFound());
    if (!deal.is_deleted) return deal;
    throw new Refusal(settings.deletedStatus === 410 ? fixedAnswers.gone : notFound());
  };

  const show = (deal: Deal) => shownInV2(deal, company.dealFields);

  const create = ({ body }: ApiRequest) => {
    checkV2(body, changeable, ['title']);
    const { custom_fields, ...sent } = sentOf(body, company);
    if (settings.dealsLeft <= 0) throw new Refusal(capped('deals'));
    settings.dealsLeft -= 1;
    const now = company.now();
    const deal: Deal = {
      id: company.nextId(),
      title: String(body['title']),
      creator_user_id: ME,
      owner_id: ME,
      value: 0,
      currency: 'EUR',
      person_id: null,
      org_id: null,
      status: 'open',
      add_time: now,
      stage_change_time: null,
      archive_time: null,
      is_archived: false,
      is_deleted: false,
      probability: null,
      lost_reason: null,
      visible_to: 3,
      close_time: null,
      won_time: null,
      lost_time: null,
      local_won_date: null,
      local_lost_date: null,
      local_close_date: null,
      expected_close_date: null,
      acv: null,
      arr: null,
      mrr: null,
      label_ids: [],
      origin: 'API',
      origin_id: null,
      channel: null,
      channel_id: null,
      source_lead_id: null,
      ...sent,
      ...placeOf(body, company),
      update_time: now,
      custom_fields,
    };
    return succeeded(show(company.storeDeal(deal)), settings.createdStatus);
  };

  const update = ({ id, body }: ApiRequest) => {
    const deal = find(id);
    if (deal.is_archived) throw new Refusal(notFound());
    checkV2(body, changeable);
    const { custom_fields, ...sent } = sentOf(body, company);
    const changed = company.storeDeal({
      ...deal,
      ...sent,
      ...('stage_id' in body || 'pipeline_id' in body ? placeOf(body, company) : {}),
      custom_fields: { ...deal.custom_fields, ...custom_fields },
      update_time: company.now(),
    });
    return succeeded(show(changed));
  };

  const remove = ({ id }: ApiRequest) => {
    if (!settings.mayDelete) throw new Refusal(fixedAnswers.forbidden);
    const deal = find(id);
    company.storeDeal({ ...deal, is_deleted: true, update_time: company.now() });
    return succeeded({ id: deal.id });
  };

  const list =
    (archived: boolean): Handler =>
    ({ query }) => {
      checkQuery(query, {
        ...listParameters,
        person_id: anIntegerText,
        pipeline_id: anIntegerText,
        stage_id: anIntegerText,
        status: () => undefined,
      });
      const ids = idsOf(query);
      const candidates = ids
        ? ids.flatMap((id) => company.deals.get(id) ?? [])
        : company.dealsOf(numberOf(query, 'person_id'));
      const [person, pipeline, stage] = ['person_id', 'pipeline_id', 'stage_id'].map((name) =>
        numberOf(query, name),
      );
      const statuses = query.get('status')?.split(',');
      const deals = selected(candidates, query).filter(
        (deal) =>
          deal.is_archived === archived &&
          (person === undefined || deal.person_id === person) &&
          (pipeline === undefined || deal.pipeline_id === pipeline) &&
          (stage === undefined || deal.stage_id === stage) &&
          hasStatus(deal, statuses),
      );
      return cursorPage(sorted(deals, query), ({ id }) => id, query, show);
    };

  return {
    'GET /deals': list(false),
    'GET /deals/archived': list(true),
    'POST /deals': create,
    'GET /deals/{id}': ({ id }: ApiRequest) => {
      const deleted = settings.deletedStatus === 200 ? company.deals.get(Number(id)) : undefined;
      return succeeded(show(deleted ?? find(id)));
    },
    'PATCH /deals/{id}': update,
    'DELETE /deals/{id}': remove,
  } satisfies Record<string, Handler>;
}

/** Returns what a checked body sets. @throws Refusal for what only the company's state forbids */
function sentOf(body: Body, company: Company) {
  const { custom_fields, ...rest } = body;
  company.requireLinks('v2', {
    owner_id: body['owner_id'],
    person_id: body['person_id'],
    org_id: body['org_id'],
  });
  if ('lost_reason' in body && body['status'] !== 'lost') {
    throw new Refusal(invalidV2(['lost_reason: can only be set if deal status is lost']));
  }
  return { ...rest, custom_fields: valuesOfV2(custom_fields, company.dealFields, company.settings) };
}

/** Returns the stage that a body names, or the first one of its pipeline. @throws Refusal if they do not fit */
function placeOf(body: Body, { stages, pipelines }: Company) {
  const pipelineId = body['pipeline_id'] ?? pipelines[0]?.id;
  const stage =
    body['stage_id'] === undefined
      ? stages.find(({ pipeline_id }) => pipeline_id === pipelineId)
      : stages.find(({ id }) => id === body['stage_id']);
  if (stage === undefined) {
    throw new Refusal(
      invalidV2([`${body['stage_id'] === undefined ? 'pipeline_id' : 'stage_id'}: does not exist`]),
    );
  }
  if (body['pipeline_id'] !== undefined && stage.pipeline_id !== pipelineId) {
    throw new Refusal(invalidV2(['stage_id: does not belong to the pipeline']));
  }
  return { stage_id: stage.id, pipeline_id: stage.pipeline_id };
}

function hasStatus({ status, is_deleted }: Deal, statuses: readonly string[] | undefined): boolean {
  if (is_deleted) return statuses?.includes('deleted') ?? false;
  return statuses?.includes(status) ?? true;
}

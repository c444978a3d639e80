import { type ApiRequest, type Handler, succeeded } from './api-request.ts';
import { type Company, ME } from './company.ts';
import type { CustomFields } from './custom-fields.ts';
import { dealHandlers } from './deals.ts';
import { itemSearch } from './item-search.ts';
import { leadHandlers } from './leads.ts';
import { noteHandlers } from './notes.ts';
import { cursorPage, pageParameters } from './paging.ts';
import { anIntegerText, checkQuery, oneOf, type Parameters } from './parameters.ts';
import { personHandlers } from './persons.ts';
import type { RouteName } from './routes.ts';

const sorting: Parameters = {
  sort_by: oneOf('id', 'update_time', 'add_time', 'order_nr'),
  sort_direction: oneOf('asc', 'desc'),
};

/** Returns what the stub does for each operation. */
export function handlersOf(company: Company): Readonly<Record<RouteName, Handler>> {
  const { dealFields, personFields } = company;
  return {
    'GET /itemSearch': itemSearch(company),
    ...personHandlers(company),
    ...leadHandlers(company),
    ...dealHandlers(company),
    ...noteHandlers(company),
    'GET /dealFields': listFields(dealFields),
    'POST /dealFields': ({ body }) => succeeded(dealFields.create(body), company.settings.createdStatus),
    'GET /dealFields/{field_code}': ({ id }) => succeeded(dealFields.get(id)),
    'DELETE /dealFields/{field_code}': ({ id }) => succeeded(dealFields.delete(id)),
    'GET /personFields': listFields(personFields),
    'POST /personFields': ({ body }) => succeeded(personFields.create(body), company.settings.createdStatus),
    'GET /personFields/{field_code}': ({ id }) => succeeded(personFields.get(id)),
    'DELETE /personFields/{field_code}': ({ id }) => succeeded(personFields.delete(id)),
    'GET /pipelines': ({ query }) => {
      checkQuery(query, { ...pageParameters, ...sorting });
      return cursorPage(company.pipelines, ({ id }) => id, query);
    },
    'GET /stages': ({ query }) => {
      checkQuery(query, { ...pageParameters, ...sorting, pipeline_id: anIntegerText });
      const pipeline = query.get('pipeline_id');
      const stages = company.stages.filter(
        ({ pipeline_id }) => pipeline === null || String(pipeline_id) === pipeline,
      );
      return cursorPage(stages, ({ id }) => id, query);
    },
    'GET /leadLabels': () => succeeded(company.leadLabels),
    'GET /leadSources': () => succeeded(company.leadSources),
    'GET /users': () => succeeded(company.users),
    'GET /users/me': () => {
      const me = company.users.find(({ id }) => id === ME);
      return succeeded({
        ...me,
        company_id: 1001,
        company_name: 'Example Company',
        company_domain: 'example',
      });
    },
  };
}

function listFields(fields: CustomFields): Handler {
  return ({ query }: ApiRequest) => {
    checkQuery(query, { ...pageParameters, include_fields: () => undefined });
    return cursorPage(fields.all(), ({ field_code }) => field_code, query);
  };
}

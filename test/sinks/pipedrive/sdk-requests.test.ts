import { v1, v2 } from 'pipedrive';
import { expect, onTestFinished, test } from 'vitest';
import { type PipedriveRequest, startPipedriveStub } from '../../stub/pipedrive/pipedrive-stub.ts';
import { aDelivery } from '../../support/scene/a-delivery.ts';
import { aLead } from '../../support/scene/a-lead.ts';
import { aCompany, outcomesOf, setUp } from './open-pipedrive.ts';

const NEVER = new AbortController().signal;

test.each(['lead', 'deal'] as const)(
  "with a %s per lead, the sink makes the requests that Pipedrive's own client makes for the same calls",
  async (object) => {
    const { stub, open } = await aCompany({ options: { object, overwrite: 'always' } });
    const unprepared = await startPipedriveStub();
    onTestFinished(() => unprepared.close());
    await setUp(open({ options: { domain: unprepared.url } }));
    const known = { id: 1, client_email: 'known@example.com' };
    const first = aDelivery({ leadId: 1n, raw: aLead(known) });
    const withoutEmail = aDelivery({ leadId: 2n, raw: aLead({ id: 2, client_email: 'none' }) });
    const changed = { ...first, raw: aLead({ ...known, client_name: 'Another Name' }), version: 2 };
    const attempts = [
      [first, withoutEmail],
      [{ ...changed, event: 'updated' as const }],
      [{ ...first, mayHaveArrived: true }],
    ];
    for (const leads of attempts)
      for (const { kind } of await outcomesOf(open(), leads)) expect(kind).toBe('delivered');
    const sink = open();
    for await (const lead of sink.storedLeads?.(NEVER) ?? []) expect(lead.source).toBe('main');
    await sink.destinationFields?.(NEVER);
    await sink.erase?.(
      { leads: [1n, 2n].map((leadId) => ({ source: 'main', leadId })), rejected: [] },
      NEVER,
    );

    const own = [...unprepared.requests, ...stub.requests];
    expect(await sentBySdk(own)).toEqual(own.map(comparable));
    const record = object === 'lead' ? 'leads' : 'deals';
    expect([...new Set(own.map(({ route }) => route))].sort()).toEqual(
      [
        'GET /personFields',
        'POST /personFields',
        'GET /dealFields',
        'POST /dealFields',
        'GET /itemSearch',
        'GET /persons/search',
        'GET /persons',
        'GET /persons/{id}',
        'POST /persons',
        'PATCH /persons/{id}',
        'DELETE /persons/{id}',
        ...['GET', 'POST'].map((method) => `${method} /${record}`),
        ...['PATCH', 'DELETE'].map((method) => `${method} /${record}/{id}`),
        `GET /${record}/archived`,
        ...(object === 'lead' ? ['GET /deals', 'GET /deals/archived'] : ['GET /pipelines', 'GET /stages']),
        'GET /notes',
        'POST /notes',
        'DELETE /notes/{id}',
      ].sort(),
    );
  },
);

/** A request without what says only who sends it. */
function comparable({ method, path, headers, body }: PipedriveRequest) {
  const url = new URL(path, 'http://pipedrive.example');
  const query = [...url.searchParams].sort(([a], [b]) => a.localeCompare(b));
  return { method, path: url.pathname, query, token: headers['x-api-token'], body };
}

/** Makes the calls of these requests with the SDK, and returns the requests that it sends for them. */
async function sentBySdk(requests: readonly PipedriveRequest[]) {
  const stub = await startPipedriveStub();
  onTestFinished(() => stub.close());
  // The SDK may object to the answer: only its requests count here.
  for (const request of requests) await call(stub.url, stub.token, request).catch(() => undefined);
  return stub.requests.map(comparable);
}

// biome-ignore lint/suspicious/noExplicitAny: a request as it was recorded, which the SDK takes apart
type Recorded = any;

/** Makes the call of a request, whose parameters the SDK gets as they were sent. */
function call(url: string, apiKey: string, { route, path, query, body }: PipedriveRequest): Promise<unknown> {
  const first = new v1.Configuration({ apiKey, basePath: `${url}/api/v1` });
  const second = new v2.Configuration({ apiKey, basePath: `${url}/api/v2` });
  const [leads, notes] = [new v1.LeadsApi(first), new v1.NotesApi(first)];
  const [persons, deals] = [new v2.PersonsApi(second), new v2.DealsApi(second)];
  const [personFields, dealFields] = [new v2.PersonFieldsApi(second), new v2.DealFieldsApi(second)];
  const last = decodeURIComponent(path.replace(/\?.*/, '').split('/').at(-1) ?? '');
  const asked: Recorded = query;
  const sent: Recorded = body;
  switch (route) {
    case 'GET /personFields':
      return personFields.getPersonFields(asked);
    case 'POST /personFields':
      return personFields.addPersonField({ AddPersonFieldRequest: sent });
    case 'GET /dealFields':
      return dealFields.getDealFields(asked);
    case 'POST /dealFields':
      return dealFields.addDealField({ AddDealFieldRequest: sent });
    case 'GET /itemSearch':
      return new v2.ItemSearchApi(second).searchItem(asked);
    case 'GET /persons/search':
      return persons.searchPersons(asked);
    case 'GET /persons':
      return persons.getPersons(asked);
    case 'GET /persons/{id}':
      return persons.getPerson({ id: Number(last) });
    case 'POST /persons':
      return persons.addPerson({ AddPersonRequest: sent });
    case 'PATCH /persons/{id}':
      return persons.updatePerson({ id: Number(last), UpdatePersonRequest: sent });
    case 'DELETE /persons/{id}':
      return persons.deletePerson({ id: Number(last) });
    case 'GET /leads':
      return leads.getLeads(asked);
    case 'GET /leads/archived':
      return leads.getArchivedLeads(asked);
    case 'POST /leads':
      return leads.addLead({ AddLeadRequest: sent });
    case 'PATCH /leads/{id}':
      return leads.updateLead({ id: last, UpdateLeadRequest: sent });
    case 'DELETE /leads/{id}':
      return leads.deleteLead({ id: last });
    case 'GET /deals':
      return deals.getDeals(asked);
    case 'GET /deals/archived':
      return deals.getArchivedDeals(asked);
    case 'POST /deals':
      return deals.addDeal({ AddDealRequest: sent });
    case 'PATCH /deals/{id}':
      return deals.updateDeal({ id: Number(last), UpdateDealRequest: sent });
    case 'DELETE /deals/{id}':
      return deals.deleteDeal({ id: Number(last) });
    case 'GET /notes':
      return notes.getNotes(asked);
    case 'POST /notes':
      return notes.addNote({ AddNoteRequest: sent });
    case 'DELETE /notes/{id}':
      return notes.deleteNote({ id: Number(last) });
    case 'GET /pipelines':
      return new v2.PipelinesApi(second).getPipelines(asked);
    case 'GET /stages':
      return new v2.StagesApi(second).getStages(asked);
    default:
      throw new Error(`the test does not know the call of ${route}`);
  }
}

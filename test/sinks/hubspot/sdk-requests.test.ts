import { Client } from '@hubspot/api-client';
import { expect, onTestFinished, test } from 'vitest';
import { type HubSpotRequest, startHubSpotStub } from '../../stub/hubspot/hubspot-stub.ts';
import { aDelivery } from '../../support/scene/a-delivery.ts';
import { aLead } from '../../support/scene/a-lead.ts';
import { anAccount, outcomesOf, setUp } from './open-hubspot.ts';

const NEVER = new AbortController().signal;

test.each(['deal', 'lead'] as const)(
  "with a %s per lead, the sink makes the requests that HubSpot's own client makes for the same calls",
  async (object) => {
    const { stub, open } = await anAccount({ options: { object, overwrite: 'always' } });
    const sink = open();
    const unprepared = await startHubSpotStub();
    onTestFinished(() => unprepared.close());
    await setUp(open({ options: { api_url: unprepared.url } }));
    const known = aLead({ id: 1, client_email: 'known@example.com' });
    stub.addRecord('contacts', { email: 'known@example.com' });
    const leads = [
      aDelivery({ leadId: 1n, raw: known }),
      aDelivery({ leadId: 2n, raw: aLead({ id: 2, client_email: 'new@example.com' }) }),
      aDelivery({ leadId: 3n, raw: aLead({ id: 3, client_email: 'none' }) }),
    ];
    expect((await outcomesOf(sink, leads)).map(({ kind }) => kind)).toEqual([
      'delivered',
      'delivered',
      'delivered',
    ]);
    const changed = aLead({ id: 1, client_email: 'known@example.com', client_name: 'Another Name' });
    await outcomesOf(sink, [aDelivery({ leadId: 1n, version: 2, event: 'updated', raw: changed })]);
    for await (const lead of sink.storedLeads?.(NEVER) ?? []) expect(lead.source).toBe('main');
    await sink.erase?.({ leads: [{ source: 'main', leadId: 2n }], rejected: [] }, NEVER);

    const own = [...unprepared.requests, ...stub.requests].map(comparable);
    const theirs = await sentBySdk(own);
    expect(theirs).toEqual(own);
    const kinds = new Set(own.map(({ method, path }) => `${method} ${path.replace(/\?.*|\/\d+$/g, '')}`));
    const records = `${object}s`;
    expect([...kinds].sort()).toEqual(
      [
        'GET /account-info/details',
        'GET /crm/properties/contacts',
        `GET /crm/properties/${records}`,
        'POST /crm/properties/contacts',
        'POST /crm/properties/contacts/groups',
        `POST /crm/properties/${records}`,
        `POST /crm/properties/${records}/groups`,
        ...['create', 'read', 'update', 'upsert'].map((verb) => `POST /crm/objects/contacts/batch/${verb}`),
        ...['read', 'update', object === 'deal' ? 'upsert' : 'create'].map(
          (verb) => `POST /crm/objects/${records}/batch/${verb}`,
        ),
        ...(object === 'deal' ? ['POST /crm/associations/contacts/deals/batch/associate/default'] : []),
        `POST /crm/associations/${records}/contacts/batch/read`,
        `GET /crm/objects/${records}`,
        `DELETE /crm/objects/${records}`,
        'POST /crm/objects/contacts/gdpr-delete',
      ].sort(),
    );
  },
);

/** A request without what may differ: the version in its path, and lists that are empty. */
interface Comparable {
  readonly method: string;
  readonly path: string;
  readonly body: unknown;
}

function comparable({ method, path, body }: HubSpotRequest): Comparable {
  const [address = '', query = ''] = path.split('?');
  const sorted = [...new URLSearchParams(query)].filter(([, value]) => value !== 'false').sort();
  const params = new URLSearchParams(sorted).toString();
  return {
    method,
    path: address.replace(/\/(v\d|\d{4}-\d\d)(?=\/)/, '') + (params === '' ? '' : `?${params}`),
    body: body === undefined ? undefined : withoutEmpty(body),
  };
}

function withoutEmpty(body: unknown): unknown {
  return JSON.parse(JSON.stringify(body), (_, value) =>
    Array.isArray(value) && value.length === 0 ? undefined : value,
  );
}

/** Makes the calls of these requests with the SDK, and returns the requests that it sends for them. */
async function sentBySdk(requests: readonly Comparable[]): Promise<readonly Comparable[]> {
  const stub = await startHubSpotStub();
  onTestFinished(() => stub.close());
  stub.misbehave({ answer: { status: 200, body: '{"results":[]}' }, times: Number.POSITIVE_INFINITY });
  const client = new Client({ accessToken: stub.token, basePath: stub.url, numberOfApiCallRetries: 0 });
  // The SDK may object to the answer: only its requests count here.
  for (const request of requests) await call(client, request).catch(() => undefined);
  return stub.requests.map(comparable);
}

// biome-ignore lint/suspicious/noExplicitAny: a body as it was recorded, which the SDK takes apart
type Recorded = any;

async function call(client: Client, { method, path, body }: Comparable): Promise<unknown> {
  const { crm } = client;
  const [, area, second, third, fourth, verb] = path.replace(/\?.*/, '').split('/');
  const sent: Recorded = body;
  if (area === 'account-info') return client.apiRequest({ method: 'GET', path: '/account-info/v3/details' });
  const object = third ?? '';
  if (second === 'properties') {
    if (method === 'GET') return crm.properties.coreApi.getAll(object);
    return fourth === 'groups'
      ? crm.properties.groupsApi.create(object, sent)
      : crm.properties.coreApi.create(object, sent);
  }
  if (second === 'associations') {
    if (path.endsWith('/batch/read'))
      return crm.associations.v4.batchApi.getPage(object, fourth ?? '', { inputs: sent.inputs });
    const inputs = sent.inputs.map(({ from, to }: Recorded) => ({ _from: from, to }));
    return crm.associations.v4.batchApi.createDefault('contacts', fourth ?? '', { inputs });
  }
  const { basicApi, batchApi } = crm.objects;
  if (fourth === 'gdpr-delete') return crm.contacts.basicApi.purge(sent);
  if (method === 'DELETE') return basicApi.archive(object, fourth ?? '');
  const query = new URLSearchParams(path.split('?')[1]);
  if (method === 'GET')
    return basicApi.getPage(object, Number(query.get('limit')), undefined, [query.get('properties') ?? '']);
  if (verb === 'read') return batchApi.read(object, { propertiesWithHistory: [], ...sent });
  if (verb === 'update') return batchApi.update(object, sent);
  if (verb === 'upsert') return batchApi.upsert(object, sent);
  const inputs = sent.inputs.map((input: Recorded) => ({ associations: [], ...input }));
  return batchApi.create(object, { inputs });
}

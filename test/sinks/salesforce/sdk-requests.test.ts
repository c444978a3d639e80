import { Connection } from '@jsforce/jsforce-node';
import { expect, onTestFinished, test } from 'vitest';
import type { Delivery } from '../../../src/leads/delivery.ts';
import { API } from '../../../src/sinks/salesforce/salesforce-api.ts';
import { type SalesforceRequest, startSalesforceStub } from '../../stub/salesforce/salesforce-stub.ts';
import { aBatch } from '../../support/scene/a-delivery.ts';
import { openSalesforce } from './open-salesforce.ts';
import { aDeliveryOf, kinds } from './salesforce-scene.ts';

const NEVER = new AbortController().signal;
const KEY = 'Leadsync_Key__c';

/** What the sink writes in another way than jsforce, for a good reason, and what both mean. */
const differences: readonly {
  readonly why: string;
  readonly in: RegExp;
  meaning(path: string): string;
}[] = [
  {
    why: 'jsforce writes an external id into a path as it is, so a key with `/` or `?` would be another address',
    in: /\/Leadsync_Key__c\/main/,
    meaning: decodeURIComponent,
  },
  {
    why: 'the sink writes a query as a form does, with `+` for a space; Salesforce reads both',
    in: /\?q=/,
    meaning: (path) => path.replace(/(?<=\?q=).*/, (query) => decodeURIComponent(query.replaceAll('+', ' '))),
  },
];

test("the sink makes the requests that Salesforce's own client makes for the same calls", async () => {
  const own = (await requestsOfSink()).map(comparable);
  const theirs = await sentBySdk(own);
  expect(theirs.map(meaningOf)).toEqual(own.map(meaningOf));
  const unlike = own.filter(({ path }, at) => path !== theirs[at]?.path);
  for (const { why, in: place } of differences)
    expect(
      unlike.some(({ path }) => place.test(path)),
      why,
    ).toBe(true);
  const what = ({ method, path }: Comparable) =>
    `${method} ${path.replace(API, '').replace(/\?.*|\/(?:0|main%3A)\w+(?:-\d+)?$/g, '')}`;
  expect([...new Set(own.map(what))].sort()).toEqual(
    [
      'DELETE /sobjects/Lead/Leadsync_Key__c',
      'GET /query',
      'GET /sobjects/Lead/describe',
      'GET /tooling/query',
      'PATCH /composite/sobjects',
      'PATCH /composite/sobjects/Lead/Leadsync_Key__c',
      'PATCH /sobjects/FieldPermissions',
      'PATCH /sobjects/Lead/Leadsync_Key__c',
      'POST /services/oauth2/token',
      'POST /sobjects/FieldPermissions',
      'POST /sobjects/PermissionSet',
      'POST /sobjects/PermissionSetAssignment',
      'POST /tooling/sobjects/CustomField',
    ].sort(),
  );
});

/** Uses everything that the sink can do with an org, and returns its requests. */
async function requestsOfSink(): Promise<readonly SalesforceRequest[]> {
  const stub = await startSalesforceStub({ keyField: 'absent' });
  onTestFinished(() => stub.close());
  const sink = openSalesforce(stub, { options: { overwrite: 'always', duplicates: 'update' } });
  onTestFinished(() => sink.close());
  const setUp = async () => {
    for (const { make } of (await sink.missingParts?.(NEVER)) ?? []) await make(NEVER);
  };
  await setUp();
  for (const { Id } of stub.records['FieldPermissions'] ?? []) stub.change(Id, { PermissionsEdit: false });
  stub.showField('Lead', 'Leadsync_Service__c', 'hidden'); // applies the permissions
  await setUp();
  await sink.check(NEVER);
  const deliver = async (...deliveries: readonly Delivery[]) =>
    expect(new Set(kinds(await sink.deliver(aBatch(deliveries), NEVER)))).toEqual(new Set(['delivered']));
  await deliver(aDeliveryOf(1), aDeliveryOf(2));
  await deliver(aDeliveryOf(1, { client_name: 'Another Name' }, { event: 'updated', version: 2 }));
  stub.settings.duplicateRule = 'alert';
  await deliver(aDeliveryOf(3, { client_email: 'client1@example.com' }));
  for (let id = 10; id < 2_110; id += 1) stub.add('Lead', { LastName: 'Listed', [KEY]: `main:${id}` });
  let stored = 0;
  for await (const { source } of sink.storedLeads?.(NEVER) ?? []) stored += source === 'main' ? 1 : 0;
  expect(stored).toBe(2_102);
  await sink.erase?.({ leads: [{ source: 'main', leadId: 2n }], rejected: [] }, NEVER);
  return stub.requests;
}

/** A request as far as both clients have to send it. */
interface Comparable {
  readonly method: string;
  readonly path: string;
  readonly contentType: string | undefined;
  readonly body: unknown;
}

function comparable({ method, path, headers, body }: SalesforceRequest): Comparable {
  const contentType = headers['content-type'];
  const isForm = contentType?.includes('form-urlencoded');
  return {
    method,
    path,
    contentType,
    body: body === '' ? undefined : isForm ? Object.fromEntries(new URLSearchParams(body)) : JSON.parse(body),
  };
}

function meaningOf(request: Comparable): Comparable {
  const found = differences.find(({ in: place }) => place.test(request.path));
  return { ...request, path: found?.meaning(request.path) ?? request.path };
}

/** Makes the calls of these requests with jsforce, and returns the requests that it sends for them. */
async function sentBySdk(requests: readonly Comparable[]): Promise<readonly Comparable[]> {
  const stub = await startSalesforceStub({ keyField: 'absent' });
  onTestFinished(() => stub.close());
  const oauth2 = { loginUrl: stub.url, clientId: stub.clientId, clientSecret: stub.clientSecret };
  const connection = new Connection({ loginUrl: stub.url, version: '67.0', oauth2 });
  // jsforce may object to the answer: only its requests count here.
  for (const request of requests) await call(connection, request).catch(() => undefined);
  return stub.requests.map(comparable);
}

// biome-ignore lint/suspicious/noExplicitAny: a body as it was recorded, which jsforce takes apart
type Recorded = any;

async function call(connection: Connection, { method, path, body }: Comparable): Promise<unknown> {
  const sent: Recorded = body;
  if (path.endsWith('/token')) return connection.authorize({ grant_type: sent.grant_type });
  const [address = '', query = ''] = path.replace(`${API}/`, '').split('?');
  const isTooling = address.startsWith('tooling/');
  const [resource, object = '', third, fourth = ''] = address.replace('tooling/', '').split('/');
  const api: Recorded = isTooling ? connection.tooling : connection;
  if (resource === 'query')
    return object === '' ? api.query(new URLSearchParams(query).get('q') ?? '') : api.queryMore(object);
  if (resource === 'composite') {
    const records = sent.records.map(({ attributes: _, id, ...record }: Recorded) =>
      id === undefined ? record : { Id: id, ...record },
    );
    return fourth === '' ? api.update('Lead', records) : api.upsert('Lead', records, fourth);
  }
  if (third === 'describe') return api.describe(object);
  if (method === 'POST') return api.create(object, sent);
  const key = decodeURIComponent(fourth);
  if (method === 'DELETE') return api.destroy(object, `${third}/${key}`);
  return third === KEY
    ? api.upsert(object, { [KEY]: key, ...sent }, KEY)
    : api.update(object, { Id: third, ...sent });
}

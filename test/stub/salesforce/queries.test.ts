import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { aSalesforceLead as aLead, logIn, type RestClient } from './rest-client.ts';
import { type SalesforceStub, startSalesforceStub } from './salesforce-stub.ts';

let stub: SalesforceStub;
let client: RestClient;

beforeEach(async () => {
  stub = await startSalesforceStub();
  client = await logIn(stub);
});
afterEach(() => stub.close());

const keysOf = ({ body }: { body: { records: { Leadsync_Key__c: string }[] } }) =>
  body.records.map((lead) => lead.Leadsync_Key__c);

describe('a query', () => {
  beforeEach(async () => {
    await client.upsert([
      aLead('main:1', { City: 'Perth' }),
      aLead("o'neil:2", { City: 'Sydney' }),
      aLead('main:3'),
    ]);
    stub.add('Lead', { LastName: 'Of a person', Company: 'x' });
  });

  test.each([
    ['Leadsync_Key__c != null', ['main:1', "o'neil:2", 'main:3']],
    ["Leadsync_Key__c IN ('main:3', 'main:1', 'main:9')", ['main:3', 'main:1']],
    ["Leadsync_Key__c = 'o\\'neil:2'", ["o'neil:2"]],
    ["Leadsync_Key__c != null AND Leadsync_Key__c NOT IN ('main:1')", ["o'neil:2", 'main:3']],
    ['Leadsync_Key__c != null and City = null', ['main:3']],
    ["City = 'perth' AND IsConverted = false", ['main:1']],
    ["Leadsync_Key__c > 'main:1' ORDER BY Leadsync_Key__c DESC LIMIT 1", ["o'neil:2"]],
    ['Leadsync_Key__c != null ORDER BY City', ['main:3', 'main:1', "o'neil:2"]],
  ])('finds leads WHERE %s', async (where, keys) => {
    const found = await client.query(`SELECT Id, Leadsync_Key__c FROM Lead WHERE ${where}`);
    expect(keysOf(found)).toEqual(keys);
  });

  test('answers in the form of the REST API, with the fields of the query alone', async () => {
    const { body } = await client.query(
      "select Leadsync_Key__c, City from Lead where Leadsync_Key__c = 'main:3'",
    );
    const Id = stub.records['Lead']?.[2]?.Id;
    expect(body).toEqual({
      totalSize: 1,
      done: true,
      records: [
        {
          attributes: { type: 'Lead', url: `/services/data/v67.0/sobjects/Lead/${Id}` },
          Leadsync_Key__c: 'main:3',
          City: null,
        },
      ],
    });
  });

  test('counts', async () => {
    const { body } = await client.query('SELECT COUNT() FROM Lead WHERE Leadsync_Key__c != null');
    expect(body).toEqual({ totalSize: 3, done: true, records: [] });
  });

  test.each([
    ['SELECT Nothing__c FROM Lead', 'INVALID_FIELD', "No such column 'Nothing__c' on entity 'Lead'."],
    ['SELECT Id FROM Nothing', 'INVALID_TYPE', "sObject type 'Nothing' is not supported."],
    ['SELECT FROM Lead', 'MALFORMED_QUERY', "unexpected token: 'Lead'"],
    ["SELECT Id FROM Lead WHERE City = 'it's'", 'MALFORMED_QUERY', "unexpected token: 's'"],
    ['', 'MALFORMED_QUERY', "unexpected token: '<EOF>'"],
  ])('is refused: %s', async (soql, errorCode, message) => {
    expect(await client.query(soql)).toMatchObject({ status: 400, body: [{ errorCode, message }] });
  });
});

test('a query with more records than a page names the next one', async () => {
  const keys = Array.from({ length: 450 }, (_, index) => `main:${index}`);
  for (let at = 0; at < keys.length; at += 150)
    await client.upsert(keys.slice(at, at + 150).map((key) => aLead(key)));
  const soql = 'SELECT Leadsync_Key__c FROM Lead WHERE Leadsync_Key__c != null';
  const pages = [await client.query(soql, { 'sforce-query-options': 'batchSize=200' })];
  for (let last = pages[0]; last?.body.done === false; last = pages.at(-1))
    pages.push(await client.send('GET', last.body.nextRecordsUrl));
  expect(pages.map(({ body }) => [body.totalSize, body.records.length])).toEqual([
    [450, 200],
    [450, 200],
    [450, 50],
  ]);
  expect(pages.flatMap(keysOf)).toEqual(keys);
  expect(await client.send('GET', 'query/01g000000000000000-200')).toMatchObject({
    status: 400,
    body: [{ errorCode: 'INVALID_QUERY_LOCATOR' }],
  });
});

describe('a single record', () => {
  test('is created, read, changed and deleted by its id', async () => {
    const created = await client.send('POST', 'sobjects/Lead', aLead('main:1'));
    expect(created).toMatchObject({ status: 201, body: { success: true, errors: [] } });
    const path = `sobjects/Lead/${created.body.id}`;
    expect((await client.send('PATCH', path, { City: 'Perth' })).status).toBe(204);
    expect((await client.send('GET', `${path}?fields=Id,City`)).body).toMatchObject({
      Id: created.body.id,
      City: 'Perth',
    });
    expect((await client.send('GET', path.slice(0, -3))).body.LastName).toBe('Doe');
    expect((await client.send('DELETE', path)).status).toBe(204);
    for (const method of ['GET', 'DELETE', 'PATCH'])
      expect(await client.send(method, path, method === 'PATCH' ? {} : undefined)).toMatchObject({
        status: 404,
        body: [{ errorCode: 'ENTITY_IS_DELETED', message: 'entity is deleted' }],
      });
    expect(stub.records['Lead']).toEqual([]);
  });

  test('is created, read, changed and deleted by its external id', async () => {
    const path = 'sobjects/Lead/Leadsync_Key__c/main%3A1';
    const fields = { LastName: 'Doe', Company: 'x' };
    expect(await client.send('PATCH', `${path}?updateOnly=true`, fields)).toMatchObject({ status: 404 });
    const created = await client.send('PATCH', path, fields);
    expect([created.status, created.body.created]).toEqual([201, true]);
    const updated = await client.send('PATCH', path, { City: 'Perth' });
    expect([updated.status, updated.body]).toEqual([200, { ...created.body, created: false }]);
    expect((await client.send('PATCH', `/services/data/v45.0/${path}`, { City: 'x' })).status).toBe(204);
    expect((await client.send('GET', path)).body.Id).toBe(created.body.id);
    expect((await client.send('DELETE', path)).status).toBe(204);
    expect(await client.send('DELETE', path)).toMatchObject({
      status: 404,
      body: [{ errorCode: 'NOT_FOUND' }],
    });
  });

  test('is refused with its error code', async () => {
    expect(await client.send('POST', 'sobjects/Lead', { LastName: 'Doe' })).toMatchObject({
      status: 400,
      body: [{ errorCode: 'REQUIRED_FIELD_MISSING', fields: ['Company'] }],
    });
    expect(
      await client.send('PATCH', 'sobjects/Lead/Leadsync_Key__c/main:1', { Leadsync_Key__c: 'main:1' }),
    ).toMatchObject({ status: 400, body: [{ errorCode: 'INVALID_FIELD' }] });
    expect((await client.send('PUT', 'sobjects/Lead', {})).status).toBe(405);
  });

  test('several are deleted in one request', async () => {
    const { body } = await client.upsert([aLead('main:1'), aLead('main:2')]);
    const ids = body.map(({ id }: { id: string }) => id);
    const path = `composite/sobjects?ids=${[...ids, ids[0], '00Q5g0000009999AAA'].join(',')}`;
    expect((await client.send('DELETE', path)).body).toMatchObject([
      { id: ids[0], success: true },
      { id: ids[1], success: true },
      { errors: [{ statusCode: 'ENTITY_IS_DELETED' }] },
      { errors: [{ statusCode: 'INVALID_CROSS_REFERENCE_KEY' }] },
    ]);
  });
});

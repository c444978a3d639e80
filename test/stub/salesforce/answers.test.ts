import { afterAll, beforeAll, expect, test } from 'vitest';
import { allTables } from './answers.ts';
import { aSalesforceLead as aLead, logIn, type RestClient } from './rest-client.ts';
import { type SalesforceStub, startSalesforceStub } from './salesforce-stub.ts';
import { exceptionCodes, statusCodes } from './status-codes.ts';

/** Codes that the REST API has and the SOAP API, whose description lists the others, has not. */
const REST_CODES = ['NOT_FOUND', 'METHOD_NOT_ALLOWED', 'GONE'];

/** The code of a request as a whole that sObject Collections report of a single record too. */
const OF_RECORDS_TOO = ['JSON_PARSER_ERROR'];

let stub: SalesforceStub;
let client: RestClient;

beforeAll(async () => {
  stub = await startSalesforceStub();
  client = await logIn(stub);
});
afterAll(() => stub.close());

test('the list of status codes is complete', () => {
  expect(statusCodes.size).toBe(370);
});

test('every error of a record has a code of the enumeration StatusCode', () => {
  const codes = allTables.record.flatMap(({ errors }) => errors.map(({ statusCode }) => statusCode));
  const unknown = codes.filter((code) => !statusCodes.has(code) && !OF_RECORDS_TOO.includes(code));
  expect(unknown).toEqual([]);
  expect(OF_RECORDS_TOO.filter((code) => !exceptionCodes.has(code))).toEqual([]);
});

test('every error of a request has a code of the enumeration ExceptionCode, or of the REST API', () => {
  const codes = allTables.request.flatMap(({ answer: { body } }) =>
    Array.isArray(body) ? body.flatMap((error) => (typeof error === 'string' ? [] : [error.errorCode])) : [],
  );
  expect(codes.length).toBeGreaterThan(10);
  expect(codes.filter((code) => !exceptionCodes.has(code) && !REST_CODES.includes(code))).toEqual([]);
});

test.each(allTables.request)('the stub answers a request on demand with: $name', async ({ answer }) => {
  stub.answerNext('upsert', answer);
  const { status, body } = await client.upsert([aLead('main:1')]);
  expect(status).toBe(answer.status);
  expect(body ?? '').toEqual(answer.body);
  expect(stub.records['Lead']).toEqual([]);
});

test.each(allTables.record)('the stub refuses a record on demand with: $name', async ({ errors }) => {
  const result = { success: false, errors, created: false };
  stub.answerNext('upsert', { status: 200, body: [result] });
  expect((await client.upsert([aLead('main:1')])).body).toEqual([result]);
});

test.each(allTables.token)('the token endpoint answers on demand with: $name', async ({ answer }) => {
  stub.answerNext('token', answer);
  const response = await fetch(`${stub.url}/services/oauth2/token`, { method: 'POST' });
  expect(response.status).toBe(answer.status);
  const text = await response.text();
  expect(typeof answer.body === 'string' ? text : JSON.parse(text)).toEqual(answer.body);
});

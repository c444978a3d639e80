import type { SinkParts } from '../../../src/sinks/sink-type.ts';
import type { StoredRecord } from '../../stub/salesforce/object-table.ts';
import type { SalesforceStub, SalesforceStubOptions } from '../../stub/salesforce/salesforce-stub.ts';
import { type Answering, promisesOfAnswers } from '../answers-contract.ts';
import { type Arrived, type Destination, promisesOfEverySink } from '../contract.ts';
import { closedPort } from '../ports.ts';
import { aPreparedOrg, type OrgAddress, openSalesforce } from './open-salesforce.ts';

/** What a test has to read back, beside the standard fields. */
const FIELDS = {
  Leadsync_Test_Name__c: 'lead.client_name',
  Leadsync_Test_Phone__c: 'lead.client_phone_number',
  Leadsync_Test_Address__c: 'lead.address',
  Leadsync_Test_One_Liner__c: 'lead.all_details_one_liner',
  Leadsync_Test_Answers__c: 'lead.questions.map(q, [q.question, q.slug, q.answer])',
};

const REFUSED_KEY = 'main:2';

promisesOfEverySink('salesforce', start);
promisesOfAnswers('salesforce', {
  cut: () => answering((stub) => stub.misbehave({ upsert: 'cut-after-storing', times: 1 })),
  mixed: () =>
    answering((stub) => {
      stub.settings.validationRule = {
        message: 'Not this one',
        refuses: ({ Leadsync_Key__c: key }) => key === REFUSED_KEY,
      };
    }),
  vague: () => answering((stub) => stub.misbehave({ upsert: 'proxy-page' })),
});
promisesOfAnswers('salesforce whose query answers with a page of a proxy', {
  vague: () => answering((stub) => stub.misbehave({ data: 'proxy-page' })),
});
promisesOfAnswers('salesforce that answers without results', {
  vague: () => answering((stub) => stub.answerNext('upsert', ...Array(3).fill({ status: 200, body: [] }))),
});

function open(address: OrgAddress, parts: Partial<SinkParts> = {}) {
  return openSalesforce(address, { fields: FIELDS, parts });
}

async function answering(
  prepare: (stub: SalesforceStub) => unknown,
  options: SalesforceStubOptions = {},
): Promise<Answering> {
  const stub = await aPreparedOrg(options, { fields: FIELDS });
  prepare(stub);
  return {
    sink: open(stub),
    arrived: async () => leadsOf(stub).map((record) => arrivedOf(record).id),
    close: () => stub.close(),
  };
}

async function start(): Promise<Destination> {
  const stub = await aPreparedOrg({}, { fields: FIELDS });
  const silent = await aPreparedOrg({}, { fields: FIELDS });
  silent.misbehave({ upsert: 'silent' });
  const nobody = { ...stub, url: `http://127.0.0.1:${closedPort}` };
  const { clientId, clientSecret } = stub;
  const before = stub.requests.length;
  return {
    open: (parts) => open(stub, parts),
    openUnavailable: () => open({ ...nobody, clientId, clientSecret }),
    openHanging: () => open(silent),
    arrived: async () => leadsOf(stub).map(arrivedOf),
    received: async () =>
      stub.requests.slice(before).flatMap(({ method, path, headers, body }) =>
        method === 'PATCH'
          ? [
              {
                target: `PATCH ${stub.url}${path}`,
                fields: {
                  authorization: 'Bearer [secret]',
                  'content-type': String(headers['content-type']),
                  'sforce-auto-assign': String(headers['sforce-auto-assign']),
                },
                content: body,
              },
            ]
          : [],
      ),
    documented,
    documentedAnswer,
    longestAnswer: 18_000, // a long text area holds 32,768 characters
    columns: [
      { name: 'Leadsync_Rooms__c', type: 'bigint' },
      { name: 'Leadsync_Answers__c', type: 'text' },
    ],
    keepsVersions: false,
    close: async () => {
      await Promise.all([stub.close(), silent.close()]);
    },
  };
}

/** Salesforce trims texts, and leadsync removes the characters that XML does not have. */
function documented(text: string): string {
  const isXml = (character: string) => /^[\t\n\r]|[^\p{Cc}\ufffe\uffff]|[\u007f-\u009f]$/u.test(character);
  return [...text.toWellFormed()].filter(isXml).join('').trim();
}

/** JSON escapes control characters; the other two are not in XML either. */
function documentedAnswer(text: string): string {
  return text.toWellFormed().replace(/[\ufffe\uffff]/g, '');
}

function leadsOf(stub: SalesforceStub): readonly StoredRecord[] {
  return stub.records['Lead'] ?? [];
}

function arrivedOf(record: StoredRecord): Arrived {
  const value = (name: string) => String(record[name] ?? '');
  const [source = '', id = ''] = value('Leadsync_Key__c').split(/:(?=\d+$)/);
  return {
    source,
    id,
    client_name: value('Leadsync_Test_Name__c'),
    client_phone_number: value('Leadsync_Test_Phone__c'),
    client_address: value('Leadsync_Test_Address__c'),
    all_details_one_liner: value('Leadsync_Test_One_Liner__c'),
    answers: (JSON.parse(value('Leadsync_Test_Answers__c') || '[]') as [string, string, string][]).map(
      ([question, slug, answer]) => ({ question, slug, answer }),
    ),
  };
}

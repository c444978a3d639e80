import type { SinkParts } from '../../../src/sinks/sink-type.ts';
import {
  type HubSpotStub,
  type HubSpotStubOptions,
  startHubSpotStub,
} from '../../stub/hubspot/hubspot-stub.ts';
import type { StoredRecord } from '../../stub/hubspot/records.ts';
import { type Answering, promisesOfAnswers } from '../answers-contract.ts';
import { type Arrived, type Destination, promisesOfEverySink } from '../contract.ts';
import { closedPort } from '../ports.ts';
import { type HubSpotInput, openHubSpot, setUp } from './open-hubspot.ts';

type Object = 'deal' | 'lead';

/** What a test has to read back, beside the standard fields. */
const FIELDS = {
  leadsync_test_name: 'lead.client_name',
  leadsync_test_phone: 'lead.client_phone_number',
  leadsync_test_address: 'lead.address',
  leadsync_test_one_liner: 'lead.all_details_one_liner',
  leadsync_test_answers: 'lead.questions.map(q, [q.question, q.slug, q.answer])',
};

for (const object of ['deal', 'lead'] as const) {
  promisesOfEverySink(`hubspot, with a ${object} per lead`, () => start(object));
  promisesOfAnswers(`hubspot, with a ${object} per lead`, {
    cut: () =>
      answering(object, (stub) =>
        stub.misbehave({
          answer: 'cut',
          stores: true,
          at: `${object}s/batch/${object === 'deal' ? 'upsert' : 'create'}`,
        }),
      ),
    mixed: () =>
      answering(object, (stub) => stub.setRule(`${object}s`, 'leadsync_key', (key) => key !== 'main:2')),
    vague: () =>
      answering(object, (stub) => stub.misbehave({ answer: { status: 200, body: '{}' }, times: 1_000 })),
  });
}
promisesOfAnswers('hubspot whose answers have another order and no trace ids', {
  cut: () =>
    answering('deal', (stub) => stub.misbehave({ answer: 'cut', stores: true, at: 'deals/batch/upsert' }), {
      resultOrder: 'reversed',
      tracedResults: false,
    }),
  mixed: () =>
    answering('deal', (stub) => stub.setRule('deals', 'leadsync_key', (key) => key !== 'main:2'), {
      resultOrder: 'reversed',
      tracedResults: false,
    }),
});

async function aPreparedStub(object: Object, options: HubSpotStubOptions = {}): Promise<HubSpotStub> {
  const stub = await startHubSpotStub(options);
  const sink = open(stub, object);
  await setUp(sink);
  await sink.close();
  return stub;
}

function open(
  stub: Pick<HubSpotStub, 'url' | 'token'>,
  object: Object,
  parts: Partial<SinkParts> = {},
  options: HubSpotInput = {},
) {
  const fields = Object.fromEntries(
    Object.entries(FIELDS).map(([name, from]) => [`${object}.${name}`, from]),
  );
  return openHubSpot(stub, { options: { object, ...options }, fields, parts });
}

async function answering(
  object: Object,
  prepare: (stub: HubSpotStub) => unknown,
  options: HubSpotStubOptions = {},
): Promise<Answering> {
  const stub = await aPreparedStub(object, options);
  prepare(stub);
  return {
    sink: open(stub, object),
    arrived: async () => stub.records[`${object}s`].map((record) => arrivedOf(record).id),
    close: () => stub.close(),
  };
}

async function start(object: Object): Promise<Destination> {
  const stub = await aPreparedStub(object);
  const silent = await aPreparedStub(object);
  silent.misbehave({ answer: 'silent', times: 1_000 });
  const nobody = { url: `http://127.0.0.1:${closedPort}`, token: stub.token };
  return {
    open: (parts) => open(stub, object, parts),
    openUnavailable: () => open(nobody, object),
    openHanging: () => open(silent, object),
    arrived: async () => stub.records[`${object}s`].map(arrivedOf),
    received: async () =>
      stub.requests
        .filter(({ path }) => /\/batch\/(create|upsert)$/.test(path) && path.startsWith('/crm/objects/'))
        .map(({ path, headers, body }) => ({
          target: `POST ${stub.url}${path}`,
          fields: { authorization: 'Bearer [secret]', 'content-type': String(headers['content-type']) },
          // A preview cannot know the id of a contact.
          content: JSON.stringify(body).replace(/"to":\{"id":"\d+"/g, '"to":{"id":"[contact]"'),
        })),
    documented: (text) => text.toWellFormed(),
    documentedAnswer: (text) => text.toWellFormed(),
    longestAnswer: 21_000, // a property holds 65,536 characters
    keepsVersions: false,
    close: async () => {
      await Promise.all([stub.close(), silent.close()]);
    },
  };
}

function arrivedOf({ properties }: StoredRecord): Arrived {
  const value = (name: string) => properties[name] ?? '';
  const [source = '', id = ''] = value('leadsync_key').split(/:(?=\d+$)/);
  return {
    source,
    id,
    client_name: value('leadsync_test_name'),
    client_phone_number: value('leadsync_test_phone'),
    client_address: value('leadsync_test_address'),
    all_details_one_liner: value('leadsync_test_one_liner'),
    answers: (JSON.parse(properties['leadsync_test_answers'] ?? '[]') as [string, string, string][]).map(
      ([question, slug, answer]) => ({ question, slug, answer }),
    ),
  };
}

import type { SinkParts } from '../../../src/sinks/sink-type.ts';
import {
  type PipedriveStub,
  type PipedriveStubOptions,
  startPipedriveStub,
} from '../../stub/pipedrive/pipedrive-stub.ts';
import { type Answering, promisesOfAnswers } from '../answers-contract.ts';
import { type Arrived, type Destination, promisesOfEverySink } from '../contract.ts';
import { closedPort } from '../ports.ts';
import { openPipedrive, setUp } from './open-pipedrive.ts';

type Object = 'lead' | 'deal';

/** What a test has to read back, beside the standard fields. */
const FIELDS = {
  leadsync_test_name: 'lead.client_name',
  leadsync_test_phone: 'lead.client_phone_number',
  leadsync_test_address: 'lead.address',
  leadsync_test_one_liner: 'lead.all_details_one_liner',
  leadsync_test_answers: 'lead.questions.map(q, [q.question, q.slug, q.answer])',
};

for (const object of ['lead', 'deal'] as const) {
  promisesOfEverySink(`pipedrive, with a ${object} per lead`, () => start(object));
  promisesOfAnswers(`pipedrive, with a ${object} per lead`, {
    cut: () =>
      answering(object, (stub) =>
        stub.misbehave({ at: `POST /${object}s`, fault: 'cut-after-storing', times: 1 }),
      ),
    mixed: () =>
      // There is no user with this id.
      answering(object, () => undefined, {}, { [`${object}.owner_id`]: 'lead.id == 2 ? 99 : 1' }),
    vague: () => answering(object, (stub) => stub.misbehave({ fault: 'no-data' })),
  });
}
promisesOfAnswers('pipedrive whose search lags', {
  cut: () =>
    answering('lead', (stub) => stub.misbehave({ at: 'POST /leads', fault: 'cut-after-storing', times: 1 }), {
      searchLagMs: 600_000,
    }),
});
promisesOfAnswers('pipedrive that answers with pages', {
  vague: () => answering('lead', (stub) => stub.misbehave({ fault: 'html' })),
});

function open(
  stub: Pick<PipedriveStub, 'url' | 'token'>,
  object: Object,
  parts: Partial<SinkParts> = {},
  more: Readonly<Record<string, string>> = {},
) {
  const own = Object.entries(FIELDS).map(([name, from]) => [`${object}.${name}`, from]);
  return openPipedrive(stub, {
    options: { object },
    fields: { ...Object.fromEntries(own), ...more },
    parts,
  });
}

async function aPreparedStub(object: Object, options: PipedriveStubOptions = {}): Promise<PipedriveStub> {
  const stub = await startPipedriveStub(options);
  const sink = open(stub, object);
  await setUp(sink);
  await sink.close();
  return stub;
}

async function answering(
  object: Object,
  prepare: (stub: PipedriveStub) => unknown,
  options: PipedriveStubOptions = {},
  fields: Readonly<Record<string, string>> = {},
): Promise<Answering> {
  const stub = await aPreparedStub(object, options);
  prepare(stub);
  return {
    sink: open(stub, object, {}, fields),
    arrived: async () => arrivedAt(stub, object).map(({ id }) => id),
    close: () => stub.close(),
  };
}

async function start(object: Object): Promise<Destination> {
  const stub = await aPreparedStub(object);
  const silent = await aPreparedStub(object);
  silent.misbehave({ fault: 'silent' });
  const nobody = { url: `http://127.0.0.1:${closedPort}`, token: stub.token };
  const before = stub.requests.length;
  return {
    open: (parts) => open(stub, object, parts),
    openUnavailable: () => open(nobody, object),
    openHanging: () => open(silent, object),
    arrived: async () => arrivedAt(stub, object),
    received: async () =>
      stub.requests
        .slice(before)
        .filter(({ method, route }) => method === 'POST' && !route?.includes('Fields'))
        .map(({ path, headers, body }) => ({
          target: `POST ${stub.url}${path}`,
          fields: { 'x-api-token': '[secret]', 'content-type': String(headers['content-type']) },
          content: withNames(stub, JSON.stringify(body)),
        })),
    documented: (text) => text.toWellFormed(),
    documentedAnswer: (text) => text.toWellFormed(),
    longestAnswer: 21_000, // a text field holds 65,535 characters
    keepsVersions: false,
    close: async () => {
      await Promise.all([stub.close(), silent.close()]);
    },
  };
}

/** A preview cannot know the codes of fields, nor the ids of records. */
function withNames(stub: PipedriveStub, content: string): string {
  const fields = [...stub.fields.deal, ...stub.fields.person].filter(({ is_custom_field: own }) => own);
  return fields
    .reduce(
      (text, { field_code, field_name }) =>
        text.replaceAll(field_code, `[${field_name.replaceAll(' ', '_')}]`),
      content,
    )
    .replace(/"(lead|deal|person)_id":(?:\d+|"[^"]+")/g, '"$1_id":"[$1]"');
}

function arrivedAt(stub: PipedriveStub, object: Object): readonly Arrived[] {
  const codes = new Map(stub.fields.deal.map(({ field_name, field_code }) => [field_name, field_code]));
  const records = object === 'lead' ? stub.records.leads : stub.records.deals;
  return records
    .filter((record) => !('is_deleted' in record) || record.is_deleted !== true)
    .map(({ custom_fields: values }) => {
      const value = (name: string) => String(values[codes.get(name.replaceAll('_', ' ')) ?? ''] ?? '');
      const [source = '', id = ''] = value('leadsync_key').split(/:(?=\d+$)/);
      return {
        source,
        id,
        client_name: value('leadsync_test_name'),
        client_phone_number: value('leadsync_test_phone'),
        client_address: value('leadsync_test_address'),
        all_details_one_liner: value('leadsync_test_one_liner'),
        answers: (JSON.parse(value('leadsync_test_answers') || '[]') as [string, string, string][]).map(
          ([question, slug, answer]) => ({ question, slug, answer }),
        ),
      };
    });
}

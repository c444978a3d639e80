import { expect, test } from 'vitest';
import { aLead } from '../support/scene/a-lead.ts';
import { aScene } from '../support/scene/a-scene.ts';
import type { Scene } from '../support/scene/scene.ts';
import { until } from '../support/time/until.ts';
import { readRows } from './csv-reading.ts';
import { readLedger } from './read-ledger.ts';

/** A lead with more fields, given as JSON that no program would write. */
function leadWith(id: number | bigint, fields: string): string {
  return aLead({ id }).replace(/\}$/, () => `,${fields}}`);
}

const nested = (levels: number) => '['.repeat(levels) + ']'.repeat(levels);
const answer = (at: number) => ({ question: `Question ${at}?`, slug: `s${at}`, answer: `Answer ${at}` });

/** Leads that keep the description, by what is strange about them; each goes everywhere. */
const STRANGE: Readonly<Record<string, (id: number) => string>> = {
  'a thousand answers': (id) =>
    aLead({ id, service_question_answers: Array.from({ length: 1_000 }, (_, at) => answer(at)) }),
  'a thousand answers to the same question': (id) =>
    aLead({ id, service_question_answers: Array.from({ length: 1_000 }, () => answer(7)) }),
  'answers without a word': (id) =>
    aLead({
      id,
      service_question_answers: [
        { question: '', slug: '', answer: '' },
        { question: '', slug: '', answer: '' },
      ],
    }),
  'no texts at all': (id) =>
    aLead({ id, client_name: '', client_email: '', all_details_one_liner: '', service_question_answers: [] }),
  'unknown fields nested as deep as is allowed': (id) => leadWith(id, `"deep":${nested(99)}`),
  'numbers that no program holds': (id) =>
    leadWith(id, '"n":[9007199254740993,-0,1e400,-1E+400,0.1000000000000000055511151231257827,1e-400]'),
  'a number of a hundred thousand digits': (id) => leadWith(id, `"n":${'7'.repeat(100_000)}`),
  'the same numbers in an answer': (id) =>
    aLead({ id }).replace('"slug":"bedrooms"', '"slug":"bedrooms","n":[9007199254740993,-0,1e400]'),
  'keys that programs trip over': (id) =>
    leadWith(
      id,
      '"__proto__":{"client_name":"x"},"constructor":{"prototype":null},"toJSON":1,"then":2,"":{"id":9223372036854775806},"length":-1',
    ),
  'keys with the name of another in other letters': (id) =>
    leadWith(id, '"ID":1,"Id":2,"іd":3,"id ":4,"client_name\\u0000":"x"'),
  'known fields spelled in escapes': (id) =>
    aLead({ id }).replace('"client_name"', '"\\u0063lient\\u005fname"'),
  'keys that are there twice': (id) => leadWith(id, '"client_name":"x","client_email":"y","client_name":"z"'),
  'the id twice': (id) => leadWith(id, `"id":${id}`),
  'an id in every text': (id) => aLead({ id, client_name: `"id":1,{"id": 2}`, nested: { id: 3 } }),
  'ten thousand unknown fields': (id) =>
    aLead({ id, ...Object.fromEntries(Array.from({ length: 10_000 }, (_, at) => [`field ${at}`, at])) }),
  'a key of a megabyte': (id) => leadWith(id, `"${'k'.repeat(1_000_000)}":null`),
  'a question and a slug of a megabyte': (id) =>
    aLead({
      id,
      service_question_answers: [
        { question: 'q'.repeat(1_000_000), slug: 's'.repeat(1_000_000), answer: '' },
      ],
    }),
  'blanks wherever JSON has room': (id) =>
    JSON.stringify(JSON.parse(aLead({ id })), null, '\t\r\n').replaceAll('{', '\n{ '),
};

test('strange leads that match the description arrive unchanged at every sink', async () => {
  const scene = await aScene('bullmq');
  const leads = new Map(Object.values(STRANGE).map((make, at) => [at + 1, make(at + 1)]));
  for (const raw of leads.values()) scene.stub.addRaw(raw);
  const daemon = await scene.start();
  await until('each is everywhere', () => areEverywhere(scene, leads.size), 30_000);
  await daemon.kill();
  const raws = await scene.query<{ id: string; raw: string }>(
    `SELECT id, coalesce(_leadsync_original, _leadsync_raw::text) AS raw FROM ${scene.schema}.leads`,
  );
  const cells = new Map(readRows(scene.drop).map((row) => [Number(row['id']), row]));
  for (const [at, what] of Object.keys(STRANGE).entries()) {
    const [id, raw] = [at + 1, leads.get(at + 1) ?? ''];
    const body = scene.receiver.received.find(({ headers }) =>
      String(headers['webhook-id']).startsWith(`crm:main:${id}:`),
    )?.body;
    expect(body?.includes(`"data":${raw.trim()},"source"`), `${what}, at the webhook`).toBe(true);
    expect(raws.find((row) => row.id === String(id))?.raw === raw.trim(), `${what}, in the table`).toBe(true);
    const { client_name, service_question_answers } = JSON.parse(raw);
    const answers = service_question_answers.map(described);
    expect(cells.get(id)?.['client_name'], what).toBe(client_name);
    expect(JSON.parse(cells.get(id)?.['service_question_answers'] ?? ''), what).toEqual(answers);
  }
});

/** What breaks the description, or what leadsync itself holds to, by the reason that is given. */
const SET_ASIDE: Readonly<Record<string, (id: number) => string>> = {
  'is nested 10001 levels deep; the limit is 100': (id) => leadWith(id, `"deep":${nested(10_000)}`),
  'is nested 101 levels deep; the limit is 100': (id) => leadWith(id, `"deep":${nested(100)}`),
  'is 65 MB long, more than max_lead_size allows; leadsync keeps only its beginning': (id) =>
    aLead({ id, client_name: 'x'.repeat(64 * 1024 * 1024) }),
  'client_name: is missing': (id) => aLead({ id }).replace('"client_name"', '"client_name "'),
  'client_name: must be text, but is an object': (id) => leadWith(id, '"client_name":{"toString":"x"}'),
  'service_question_answers: must be an array, but is an object': (id) =>
    leadWith(id, '"service_question_answers":{"length":1,"0":{}}'),
  'service_question_answers[0]: must be an object, but is null': (id) =>
    leadWith(id, '"service_question_answers":[null]'),
  'client_address.friendly_address: is missing': (id) =>
    leadWith(id, '"client_address":{"__proto__":{"friendly_address":"x"}}'),
};

test('strange elements that do not match the description are rejected with a reason, and delay no lead', async () => {
  const scene = await aScene('in-process', { stub: { leads: 3, firstId: 1_000 } });
  for (const [at, make] of Object.values(SET_ASIDE).entries()) scene.stub.addRaw(make(at + 1));
  const { stdout, code } = await scene.run('sync');
  expect(stdout).toContain('warehouse: 3 delivered (3 in total), 0 pending, 0 dead');
  expect(code).toBe(0);
  const reasons = readLedger(
    scene,
    "SELECT ltrim(path || ': ' || reason, ': ') FROM rejected_leads ORDER BY position",
  );
  expect(reasons.flat()).toEqual(Object.keys(SET_ASIDE));
  expect((await scene.run('trace', '1')).stdout).toContain('source main: is nested 10001 levels deep');
});

/** What the description knows of an answer. */
function described({ question, slug, answer }: Record<'question' | 'slug' | 'answer', string>) {
  return { question, slug, answer };
}

async function areEverywhere({ receiver, drop, schema, query }: Scene, leads: number): Promise<boolean> {
  if (receiver.received.length < leads || readRows(drop).length < leads) return false;
  const [row] = await query<{ n: number }>(`SELECT count(*)::integer AS n FROM ${schema}.leads`);
  return row?.n === leads;
}

import { existsSync, readFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { MappedFields } from '../../../src/leads/mapped-fields.ts';
import { SinkUnavailable } from '../../../src/sinks/sink-unavailable.ts';
import { testBatch } from '../../../src/sinks/test-batch.ts';
import { ownStrings } from '../../hostile/own-strings.ts';
import { aBatch, aDelivery } from '../../support/scene/a-delivery.ts';
import { aLead } from '../../support/scene/a-lead.ts';
import { validateRecords } from '../../support/servers/schema-witness.ts';
import { HeldClock } from '../../support/time/held-clock.ts';
import { until } from '../../support/time/until.ts';
import { type ExecInput, openExec, ProgramFolder } from './open-exec.ts';

const NEVER = new AbortController().signal;

let folder: ProgramFolder;
beforeEach(() => {
  folder = new ProgramFolder();
});
afterEach(() => folder.remove());

/** What a target would get of a batch, byte by byte. */
function messagesOf(batch = aBatch(1), more: Partial<ExecInput> = {}): string {
  const [preview] = openExec({ command: ['target'], speaks: 'singer', ...more }).preview(batch);
  return preview?.content ?? '';
}

const parsed = (messages: string) =>
  messages
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line));

describe('the messages of a Singer tap', () => {
  test('are a SCHEMA per stream, the RECORDs of each lead, and one STATE at the end', () => {
    const messages = parsed(messagesOf(aBatch(2)));
    expect(messages.map(({ type, stream }) => `${type} ${stream ?? ''}`.trim())).toEqual([
      ...['SCHEMA leads', 'SCHEMA lead_answers'],
      ...['RECORD leads', ...answers(), 'RECORD leads', ...answers()],
      'STATE',
    ]);
    expect(messages[0].key_properties).toEqual(['source', 'id']);
    expect(messages[1].key_properties).toEqual(['source', 'lead_id', 'position']);
  });

  test('have the columns of the synced store, but for those that change after the delivery', () => {
    const [leads, answersSchema] = parsed(messagesOf());
    const documented = readFileSync(new URL('../../../docs/store.md', import.meta.url), 'utf8');
    const section = (name: string) => documented.split(`### \`${name}\`\n`)[1]?.split('\n### ')[0] ?? '';
    const columns = (name: string) =>
      [...section(name).matchAll(/^\| `(\w+)` \|/gm)].map(([, column]) => column);
    const later = ['_leadsync_synced_at', '_leadsync_last_listed_at'];
    expect(Object.keys(leads.schema.properties)).toEqual([
      ...columns('leads').filter((name) => !later.includes(name ?? '')),
      '_leadsync_delivery_id',
    ]);
    expect(Object.keys(answersSchema.schema.properties)).toEqual(columns('lead_answers'));
  });

  test('fit their schemas, with hostile text, no address, odd times and ids of 19 digits', () => {
    const leads = [
      ...ownStrings.map((text) => ({
        client_name: text,
        client_address: { friendly_address: text },
        service_question_answers: [{ question: text, slug: text, answer: text }],
      })),
      { client_address: null, service_question_answers: [] },
      ...['2026-11-20', '0001-01-01T00:00:00+14:00', '9999-12-31T23:59:60Z', 'yesterday'].map(
        (created_at) => ({ created_at }),
      ),
    ];
    const deliveries = leads.map((fields, at) => {
      const id = 9_223_372_036_854_775_807n - BigInt(at);
      return aDelivery({ leadId: id, raw: aLead({ ...fields, id }) });
    });
    for (const ids of ['number', 'string'] as const) {
      const messages = messagesOf(aBatch(deliveries), { ids });
      const said = validateRecords(messages);
      expect(said.filter((line) => !line.startsWith('ok '))).toEqual([]);
      expect(said.filter((line) => line === 'ok leads')).toHaveLength(leads.length);
      const texts = parsed(messages)
        .flatMap(({ record }) => Object.values(record ?? {}))
        .filter((cell) => typeof cell === 'string');
      expect(texts.filter((text) => text.includes('\0') || !text.isWellFormed()).length).toBe(0);
    }
  });

  test('the witness sees a record that does not fit', () => {
    const wrong = messagesOf().replace('"client_name":"', '"client_name":1,"more":"');
    expect(validateRecords(wrong)).toEqual(
      expect.arrayContaining(['unknown more', expect.stringContaining('1 is not of type')]),
    );
  });

  test('write every digit of an id, as a number or as a string', () => {
    const batch = aBatch([aDelivery({ leadId: 9_007_199_254_740_993n })]);
    expect(messagesOf(batch)).toContain('"id":9007199254740993,');
    expect(messagesOf(batch)).toContain('"lead_id":9007199254740993,');
    expect(messagesOf(batch)).toContain('"minimum":-9223372036854775808,"maximum":9223372036854775807');
    expect(messagesOf(batch, { ids: 'string' })).toContain('"id":"9007199254740993"');
    expect(messagesOf(batch, { ids: 'string' })).toContain('"lead_id":"9007199254740993"');
    expect(messagesOf(batch, { ids: 'string' })).not.toContain('"maximum"');
  });

  test('have the fields of a mapping in their types, and what identifies the lead behind them', () => {
    const fields: MappedFields = new Map<string, never>(
      Object.entries({
        name: 'Ana',
        rooms: 9_007_199_254_740_993n,
        hot: true,
        at: '2026-11-20T10:00:00.000Z',
        tags: ['a', 'b'],
        size: 1.5,
      }) as never,
    );
    const types = {
      name: 'text',
      rooms: 'bigint',
      hot: 'boolean',
      at: 'time',
      tags: 'json',
      size: 'double',
    } as const;
    const columns = Object.entries(types).map(([name, type]) => ({ name, type }));
    const messages = messagesOf(aBatch([aDelivery({ fields })], { columns }));
    expect(validateRecords(messages)).toEqual(['ok leads']);
    const [schema, record] = parsed(messages);
    expect(schema.key_properties).toEqual(['_leadsync_source', '_leadsync_lead_id']);
    expect(schema.schema.properties.at).toEqual({ type: ['null', 'string'], format: 'date-time' });
    expect(messages).toContain('"rooms":9007199254740993,"hot":true,');
    expect(record.record).toMatchObject({ name: 'Ana', tags: '["a","b"]', size: 1.5, _leadsync_lead_id: 42 });
    const mixed = messagesOf(aBatch([aDelivery({ fields }), aDelivery({ leadId: 7n })], { columns }));
    expect(validateRecords(mixed)).toEqual(['ok leads', 'ok leads']);
    expect(JSON.parse(parsed(mixed)[2].record._leadsync_raw).id).toBe(7);
  });

  test('of a test event go to streams of their own', async () => {
    const command = folder.node(
      'target',
      `${READS} fs.writeFileSync(here('got'), text); console.log(state);`,
    );
    const { arrived } = await openExec({ command, speaks: 'singer' }).test(
      testBatch('sink', new Date(0)),
      NEVER,
    );
    expect(arrived).toBe(true);
    const streams = parsed(readFileSync(folder.at('got'), 'utf8')).flatMap(({ stream }) => stream ?? []);
    expect(new Set(streams)).toEqual(new Set(['leadsync_test_leads', 'leadsync_test_lead_answers']));
  });
});

const READS = `
const text = readAll();
const state = JSON.stringify(linesOf(text).map((line) => JSON.parse(line)).findLast(({ type }) => type === 'STATE').value);
`;

describe('the acknowledgement of a target', () => {
  const attempt = (code: string) =>
    openExec({ command: folder.node('target', code), speaks: 'singer' })
      .deliver(aBatch(3), NEVER)
      .then(
        (outcomes) => [...new Set(outcomes.map(({ kind }) => kind))],
        (error) => (error instanceof SinkUnavailable ? error.message : error),
      );

  test.each([
    ['the STATE', 'console.log(state)'],
    ['the STATE without a line break', 'fs.writeSync(1, state)'],
    [
      'the STATE after others and after noise',
      "console.log('{\"leadsync\":{}}'); console.log('loaded'); console.log('x'.repeat(200000)); console.log(state)",
    ],
    [
      'the STATE with its keys in another order',
      'console.log(JSON.stringify({ leadsync: Object.fromEntries(Object.entries(JSON.parse(state).leadsync).reverse()) }, null, 0))',
    ],
  ])('is %s and exit code 0', async (_, code) => {
    expect(await attempt(`${READS} ${code}`)).toEqual(['delivered']);
  });

  test.each([
    ['no STATE', 'readAll();', /exit code 0 and did not write the STATE/],
    [
      'another STATE after it',
      `${READS} console.log(state); console.log('{"other":1}')`,
      /did not write the STATE/,
    ],
    [
      'a STATE that it echoes before it dies',
      `${READS} console.log(state); process.exit(1)`,
      /exit code 1\.$/,
    ],
    [
      'a STATE that is not its own',
      `${READS} console.log(state.replace(/[0-9a-f]{64}/, '0'.repeat(64)))`,
      /did not write the STATE/,
    ],
  ])('is not %s', async (_, code, message) => {
    expect(await attempt(code)).toMatch(message);
  });

  test('after SIGTERM counts: a target that drains at the timeout has stored the leads', async () => {
    const drains = `
process.on('SIGTERM', () => { console.log(state); process.exit(0); });
${READS}
fs.writeFileSync(here('read'), '');
setInterval(() => {}, 1000);
`;
    const clock = new HeldClock();
    const sink = openExec(
      { command: folder.node('target', drains), speaks: 'singer' },
      { clock, timeoutMs: 60_000 },
    );
    const delivered = sink.deliver(aBatch(1), NEVER);
    await until('it has read', () => existsSync(folder.at('read')));
    await clock.pass(60_000);
    expect(await delivered).toEqual([{ kind: 'delivered' }]);
  });
});

function answers(): string[] {
  const { service_question_answers: given } = JSON.parse(aLead());
  return given.map(() => 'RECORD lead_answers');
}

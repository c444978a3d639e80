import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { openCsv } from '../sinks/csv/open-csv.ts';
import { openPostgres, startDatabase } from '../sinks/postgres/database.ts';
import { openWebhook } from '../sinks/webhook/open-webhook.ts';
import { tempDir } from '../support/files/temp-dir.ts';
import { aBatch, aDelivery } from '../support/scene/a-delivery.ts';
import { aLead } from '../support/scene/a-lead.ts';
import { csvFiles } from '../support/scene/scene.ts';
import { startWebhookReceiver } from '../support/servers/webhook-receiver.ts';
import { type CsvRow, readRows } from './csv-reading.ts';
import { linesOfPage } from './sink-page.ts';

const NEVER = new AbortController().signal;
const HALF = '\ud800';

/** A lead with NUL, or what else, in a text of its own and in an answer. */
function leadOf(text: string): string {
  return aLead({ client_name: text, service_question_answers: [{ question: 'Q', slug: 'q', answer: text }] });
}

/** A lead with more fields, given as JSON that no program would write. */
function leadWith(fields: string): string {
  return aLead({ id: 7 }).replace(/\}$/, () => `,${fields}}`);
}

describe('the page of the CSV sink is right about', () => {
  const cases: Readonly<Record<string, () => Promise<void>>> = {
    NUL: async () => {
      const row = await rowInFile(leadOf('a\0b'));
      expect(row['client_name']).toBe('a\ufffdb');
      expect(row['service_question_answers']).toContain('"a\\u0000b"');
    },
    'a lone surrogate': async () => {
      const row = await rowInFile(leadOf(`a${HALF}b`));
      expect(row['client_name']).toBe('a\ufffdb');
      expect(row['service_question_answers']).toContain('"a\\ud800b"');
    },
    'text that looks like a formula': async () => {
      expect((await rowInFile(leadOf('=1+1')))['client_name']).toBe("'=1+1");
      expect((await rowInFile(leadOf('=1+1'), 'keep'))['client_name']).toBe('=1+1');
    },
    'no address': async () => {
      expect((await rowInFile(aLead({ client_address: null })))['client_address']).toBe('');
      expect((await rowInFile(aLead({ client_address: { friendly_address: '' } })))['client_address']).toBe(
        '',
      );
    },
    "a field that the service's API description does not mention": async () => {
      const unknown = { unknown: 'not known' };
      const answer = { question: 'Q', slug: 'q', answer: 'A' };
      const row = await rowInFile(
        aLead({
          ...unknown,
          client_address: { friendly_address: 'Here', ...unknown },
          service_question_answers: [{ ...answer, ...unknown }],
        }),
      );
      expect(JSON.stringify(row)).not.toContain('known');
      expect(JSON.parse(row['service_question_answers'] ?? '')).toEqual([answer]);
    },
    'a repeated key': async () => {
      expect((await rowInFile(leadWith('"client_name":"the last"')))['client_name']).toBe('the last');
    },
    'the spelling of the JSON': async () => {
      expect((await rowInFile(leadWith('"client_name":"\\u0041\\/"')))['client_name']).toBe('A/');
    },
  };

  test('every line of its table, each of which is tested here', () => {
    expect(linesOfPage('csv', 'What a file cannot hold')).toEqual(Object.keys(cases));
  });

  test.each(Object.entries(cases))('%s', (_, holds) => holds());

  async function rowInFile(raw: string, formulas: 'neutralise' | 'keep' = 'neutralise'): Promise<CsvRow> {
    const directory = tempDir();
    await openCsv({ directory, formulas }).deliver(aBatch([aDelivery({ raw })]), NEVER);
    const [row = {}] = readRows(directory);
    return row;
  }

  test('the length of its cells', async () => {
    const directory = tempDir();
    await openCsv({ directory }).deliver(aBatch([aDelivery({ raw: leadOf('x'.repeat(3_000_000)) })]), NEVER);
    const [name = ''] = csvFiles(directory);
    expect(readFileSync(join(directory, name), 'utf8')).toContain('x'.repeat(3_000_000));
  });
});

describe('the page of the PostgreSQL sink is right about', () => {
  const cases: Readonly<Record<string, () => Promise<void>>> = {
    NUL: () => replaces('a\0b'),
    'a lone surrogate': () => replaces(`a${HALF}b`),
    "a field that the service's API description does not mention": async () => {
      const { raw, ...rest } = await inTables(leadWith('"unknown":{"unknown":9007199254740993}'));
      expect(raw).toContain('"unknown":{"unknown":9007199254740993}');
      expect(JSON.stringify(rest)).not.toContain('unknown');
    },
    'a slug that repeats': async () => {
      const answers = ['one', 'two'].map((answer) => ({ question: 'Q', slug: 'q', answer }));
      const stored = await inTables(aLead({ service_question_answers: answers }));
      expect(stored).toMatchObject({ answers: { q: ['one', 'two'] }, rows: ['one', 'two'] });
    },
    'a repeated key': async () => {
      const { client_name, raw } = await inTables(leadWith('"client_name":"the last"'));
      expect(client_name).toBe('the last');
      expect(String(raw).match(/"client_name"/g)).toHaveLength(2);
    },
    'a `created_at` without an offset': () => takesTime('2026-11-20 09:59:30', '2026-11-20 09:59:30+00'),
    'a `created_at` with more than six decimals': () =>
      takesTime('2026-11-20T09:59:30.123456789Z', '2026-11-20 09:59:30.123457+00'),
    'a `created_at` with a 60th second': () => takesTime('2026-11-20T09:59:60Z', '2026-11-20 10:00:00+00'),
    'a `created_at` in the year 0': () => takesTime('0000-01-01T00:00:00Z', '0001-01-01 00:00:00 BC+00'),
    'a `created_at` with an offset of 16 hours or more': () =>
      takesTime('2026-11-20T09:59:30+16:00', '2026-11-19 17:59:30+00'),
  };

  test('every line of its table, each of which is tested here', () => {
    expect(linesOfPage('postgres', 'What the tables cannot hold')).toEqual(Object.keys(cases));
  });

  test.each(Object.entries(cases))('%s', (_, holds) => holds());

  async function replaces(text: string): Promise<void> {
    const lead = leadOf(text);
    const stored = await inTables(lead);
    expect(stored).toMatchObject({ client_name: 'a\ufffdb', answers: { q: 'a\ufffdb' }, rows: ['a\ufffdb'] });
    expect(stored).toMatchObject({ raw: lead, replaced: true });
    expect((await inTables(leadOf('a\ufffdb')))['replaced']).toBe(false);
  }

  async function takesTime(created_at: string, stored: string): Promise<void> {
    expect((await inTables(aLead({ created_at })))['created_at']).toBe(stored);
  }

  async function inTables(raw: string): Promise<Record<string, unknown>> {
    const { sink, query } = aDatabase();
    expect(await sink.deliver(aBatch([aDelivery({ raw })]), NEVER)).toEqual([{ kind: 'delivered' }]);
    const [row = {}] = await query(`
      SELECT client_name, created_at AT TIME ZONE 'UTC' || '+00' AS created_at, answers, all_details_one_liner,
        service_question_answers, coalesce(_leadsync_original, _leadsync_raw::text) AS raw, _leadsync_replaced AS replaced,
        (SELECT array_agg(answer ORDER BY position) FROM lead_answers) AS rows
      FROM leads`);
    return row;
  }

  function aDatabase() {
    const database = startDatabase();
    const sink = openPostgres({ url: database.url, schema: database.schema, raw: true });
    onTestFinished(async () => {
      await sink.close();
      await database.close();
    });
    return { sink, query: database.query };
  }
});

describe('the page of the webhook sink is right about', () => {
  const sent =
    (raw: string, part = raw) =>
    async () =>
      expect(await inRequest(raw)).toContain(part);
  const cases: Readonly<Record<string, () => Promise<void>>> = {
    NUL: sent(leadWith('"x":"\\u0000"'), '"x":"\\u0000"'),
    'a lone surrogate': sent(leadWith('"x":"\\uD800"'), '"x":"\\uD800"'),
    'line separators, bidirectional formatting characters, invisible characters, terminal escapes': sent(
      leadOf('\u2028\u202e\u200b\u001b[2J'),
      '"\u2028\u202e\u200b\\u001b[2J"',
    ),
    'a number of any length': sent(
      leadWith('"x":[9007199254740993,-0,1e400]'),
      '[9007199254740993,-0,1e400]',
    ),
    'any key, or a repeated key': sent(leadWith('"__proto__":1,"__proto__":{"a":2}')),
    "a field that the service's API description does not mention": sent(leadWith('"x": [ {} ]')),
    'megabytes of text': sent(leadOf('"'.repeat(3_000_000))),
  };

  test('every line of its table, each of which is tested here', () => {
    expect(linesOfPage('webhook', 'What a request may contain')).toEqual(Object.keys(cases));
  });

  test.each(Object.entries(cases))('%s', (_, holds) => holds());

  async function inRequest(raw: string): Promise<string> {
    const receiver = await startWebhookReceiver();
    const sink = openWebhook({ url: receiver.url });
    onTestFinished(async () => {
      await sink.close();
      await receiver.close();
    });
    await sink.deliver(aBatch([aDelivery({ raw })]), NEVER);
    const body = receiver.received[0]?.body.toString() ?? '';
    expect(body).toContain(`"data":${raw},"source"`);
    return body;
  }
});

import { join } from 'node:path';
import { Webhook } from 'standardwebhooks';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { restoreCell } from '../../src/platform/text/formula-injection.ts';
import { aScene } from '../support/scene/a-scene.ts';
import { csvFiles, type Scene, SINKS } from '../support/scene/scene.ts';
import { until } from '../support/time/until.ts';
import { naughtyStrings, withOrWithout } from './corpora.ts';
import { type CsvRow, python, readByPython, readRecords, readRows } from './csv-reading.ts';
import { asText, type HostileLead, hostileLeads } from './hostile-lead.ts';
import { hostileStrings, ownStrings } from './own-strings.ts';
import { expectLogLines, expectPlain } from './plain-output.ts';
import { readLedger } from './read-ledger.ts';

const SECRET = `whsec_${Buffer.alloc(24, 7).toString('base64')}`;
const CORPUS = withOrWithout(naughtyStrings, 'the Big List of Naughty Strings');
const READER = python ?? 'WITHOUT python3, which is absent here';
const TEXT_COLUMNS = [
  'service_name',
  'service_slug',
  'client_name',
  'client_email',
  'client_phone_number',
  'client_address',
  'all_details_one_liner',
] as const;

test(`every field of a lead may be any of our own ${ownStrings.length} hostile strings ${CORPUS}: each sink stores it by its rule (CSV read by csv-parse, and ${READER})`, async () => {
  const leads = hostileLeads(hostileStrings);
  const scene = await aScene('in-process', {
    config: { log: { format: 'json', level: 'trace' } },
    sinks: { drop: { batch: { max: 250, wait: '500ms' } } },
  });
  for (const { raw } of leads) scene.stub.addRaw(raw);
  const daemon = await scene.start();
  const delivered = "SELECT 1 FROM deliveries WHERE state = 'delivered'";
  await until(
    'every lead is at every sink',
    () => readLedger(scene, delivered).length === SINKS.length * leads.length,
    100_000,
  );
  expectExactLedger(scene, leads);
  expectExactWebhooks(scene, leads);
  expectCsv(scene, leads);
  if (python !== undefined) expectSameByPython(scene);
  const rows = await stored(scene);
  for (const lead of leads) expect(rows.get(lead.id), JSON.stringify(lead.text)).toEqual(rowOf(lead));
  await daemon.kill();
  expect(daemon.stdout).toBe('');
  expectPlain(daemon.stderr, 'the log');
  expectLogLines(daemon.stderr);
});

test(`an element with one of them as created_at or id is rejected with a reason, delays no other lead, and is stored as received ${CORPUS}`, async () => {
  const scene = await aScene('in-process', { stub: { leads: 3 } });
  const [lead] = hostileLeads(['plain'], 900_000);
  const raws = hostileStrings.flatMap((text, at) => [
    lead?.raw
      .replace('"2026-02-03T04:05:06.789Z"', () => JSON.stringify(text))
      .replace('900000', `${800_000 + at}`) ?? '',
    lead?.raw.replace('"id":900000', () => `"id":${JSON.stringify(text)}`) ?? '',
  ]);
  for (const raw of raws) scene.stub.addRaw(raw);
  const synced = await scene.run('sync');
  expect(synced.stdout).toContain('crm: 3 delivered (3 in total), 0 pending, 0 dead');
  const kept = readLedger(scene, 'SELECT raw FROM rejected_leads').flat();
  expect(new Set(kept)).toEqual(new Set(raws));
  const status = await scene.run('status');
  expect(status.stdout).toContain(
    `main: ${raws.length.toLocaleString('en')} leads in the last complete listing do not match`,
  );
  const trace = await scene.run('trace', '800001');
  expect(trace.stdout).toContain('created_at: is not an ISO 8601 date-time');
  for (const { stdout, stderr } of [synced, status, trace]) expectPlain(stdout + stderr, 'a command');
});

/** The ledger keeps the text as it was received. */
function expectExactLedger(scene: Scene, leads: readonly HostileLead[]): void {
  const rows = readLedger(scene, 'SELECT id, coalesce(_leadsync_original, _leadsync_raw) FROM leads');
  expect(new Map(rows.map((row) => z.tuple([z.number(), z.string()]).parse(row)))).toEqual(
    new Map(leads.map(({ id, raw }) => [id, raw])),
  );
}

/** A webhook holds the text as it was received, and its signature is that of these very bytes. */
function expectExactWebhooks({ receiver }: Scene, leads: readonly HostileLead[]): void {
  const rest = new Map(leads.map((lead) => [lead.id, lead]));
  for (const { body, headers } of receiver.received) {
    const text = body.toString();
    expect(Buffer.from(text)).toEqual(body);
    const [, raw = '', id] =
      /^\{"type":"lead\.created","timestamp":"[^"]*","data":(\{"id":(\d+).*\}),"source":"main","replay":false\}$/s.exec(
        text,
      ) ?? [];
    expect(raw).toBe(rest.get(Number(id))?.raw);
    rest.delete(Number(id));
    new Webhook(SECRET).verify(body, headers as Record<string, string>);
  }
  expect([...rest.keys()]).toEqual([]);
}

function expectCsv({ drop }: Scene, leads: readonly HostileLead[]): void {
  const rows = new Map(readRows(drop).map((row) => [Number(row['id']), row]));
  expect([...rows.keys()].sort((a, b) => a - b)).toEqual(leads.map(({ id }) => id));
  for (const lead of leads) expectCsvRow(rows.get(lead.id) ?? {}, lead);
}

function expectCsvRow(row: CsvRow, { text }: HostileLead): void {
  for (const column of TEXT_COLUMNS) {
    const cell = row[column] ?? '';
    expect([asText(text), `'${asText(text)}`], column).toContain(cell);
    expect(restoreCell(cell), column).toBe(asText(text));
    expect(isHarmless(cell), `${column}: ${JSON.stringify(cell)}`).toBe(true);
  }
  expect(JSON.parse(row['service_question_answers'] ?? '')).toEqual([
    { question: text, slug: text, answer: text },
    { question: 'And?', slug: 'and', answer: text },
  ]);
}

/** What spreadsheets do not run: what begins with another character than these, a plain number, a phone number. */
function isHarmless(cell: string): boolean {
  return (
    !/^[\s\0]*[=+\-@\t\r\n]/.test(cell) || /^-\d+([.,]\d+)?$/.test(cell) || /^\+[\d(][\d ().-]*$/.test(cell)
  );
}

function expectSameByPython({ drop }: Scene): void {
  const files = csvFiles(drop).map((name) => join(drop, name));
  expect(readByPython(files)).toEqual(files.map(readRecords));
}

/** What the tables hold of each lead, without any JSON that JavaScript would have to parse. */
async function stored(scene: Scene): Promise<Map<number, unknown>> {
  const rows = await scene.query<{ id: string }>(`
    SELECT id, ${TEXT_COLUMNS.join(', ')}, coalesce(_leadsync_original, _leadsync_raw::text) AS raw, _leadsync_replaced AS replaced,
      (SELECT array_agg(e->>'question' || '|' || (e->>'slug') || '|' || (e->>'answer') ORDER BY n)
        FROM jsonb_array_elements(service_question_answers) WITH ORDINALITY AS q(e, n)) AS in_json,
      (SELECT array_agg(question || '|' || slug || '|' || answer ORDER BY position)
        FROM ${scene.schema}.lead_answers WHERE source = l.source AND lead_id = l.id) AS in_rows,
      (SELECT array_agg(key || '|' || value ORDER BY key = 'and') FROM jsonb_each_text(answers)) AS by_slug
    FROM ${scene.schema}.leads l`);
  return new Map(rows.map((row) => [Number(row.id), row]));
}

/** The same, as it should be. */
function rowOf({ id, text, raw }: HostileLead) {
  const held = asText(text);
  const answers = [`${held}|${held}|${held}`, `And?|and|${held}`];
  return {
    id: String(id),
    ...Object.fromEntries(TEXT_COLUMNS.map((column) => [column, held])),
    raw,
    replaced: held !== text,
    in_json: answers,
    in_rows: answers,
    by_slug: [`${held}|${held}`, `and|${held}`],
  };
}

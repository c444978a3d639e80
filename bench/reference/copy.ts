// Floor: transfer and parse, then COPY of the same rows to temporary tables and one INSERT … ON CONFLICT each, into the
// very tables that leadsync writes. Making the rows is left out of the time: a floor need not know how they come about.
import { hash } from 'node:crypto';
import { parseArgs } from 'node:util';
import { Client } from 'pg';
import { request } from 'undici';
import { readLead } from '../../src/leads/lead.ts';
import { rowOf } from '../../src/sinks/lead-row.ts';
import { migrations } from '../../src/sinks/postgres/migrations.ts';
import { leadColumns } from '../../src/sinks/postgres/rows.ts';
import { CopyIn } from './copy-in.ts';
import { eachLine } from './each-line.ts';

const { values } = parseArgs({
  options: { 'base-url': { type: 'string', default: '' }, postgres: { type: 'string', default: '' } },
});
const LEADS_PER_PART = 500;
const names = Object.keys(leadColumns) as (keyof typeof leadColumns)[];
const columns = [...names, '_leadsync_synced_at'];
const answerColumns = ['source', 'lead_id', 'position', 'question', 'slug', 'answer'];

const client = new Client({ connectionString: values.postgres });
await client.connect();
await client.query('CREATE SCHEMA leadsync; SET search_path = leadsync');
for (const step of migrations) await client.query(step);

await eachLine(async () => {
  const { body } = await request(`${values['base-url']}/api/v1/leads`);
  const leads: unknown[] = JSON.parse(await body.text());
  const rowsMs = performance.now();
  const rows = rowsFor(leads);
  const leftOutMs = performance.now() - rowsMs;
  await client.query('BEGIN');
  await load('leads', columns, ['source', 'id'], rows.leads);
  await load('lead_answers', answerColumns, ['source', 'lead_id', 'position'], rows.answers);
  await client.query('COMMIT');
  return { leads: leads.length, leftOutMs };
});
await client.end();

async function load(
  table: string,
  columns: readonly string[],
  key: readonly string[],
  parts: readonly Buffer[],
): Promise<void> {
  await client.query(`CREATE TEMPORARY TABLE given_${table} (LIKE ${table}) ON COMMIT DROP`);
  await client.query(new CopyIn(`COPY given_${table} (${columns.join(', ')}) FROM STDIN`, parts)).done;
  const changing = columns.filter((name) => !key.includes(name));
  await client.query(`INSERT INTO ${table} SELECT * FROM given_${table} ON CONFLICT (${key.join(', ')}) DO UPDATE SET
    ${changing.map((name) => `${name} = excluded.${name}`).join(', ')}`);
}

/** The rows as COPY reads them, in parts. */
function rowsFor(leads: readonly unknown[]): { leads: Buffer[]; answers: Buffer[] } {
  const parts: { leads: Buffer[]; answers: Buffer[] } = { leads: [], answers: [] };
  for (let from = 0; from < leads.length; from += LEADS_PER_PART) {
    let [leadLines, answerLines] = ['', ''];
    for (const lead of leads.slice(from, from + LEADS_PER_PART)) {
      const row = rowOf(deliveryOf(JSON.stringify(lead)));
      leadLines += line([...names.map((name) => row.columns[name]), new Date().toISOString()]);
      for (const [position, { question, slug, answer }] of row.answers.entries()) {
        answerLines += line([row.columns.source, row.columns.id, position, question, slug, answer]);
      }
    }
    parts.leads.push(Buffer.from(leadLines));
    parts.answers.push(Buffer.from(answerLines));
  }
  return parts;
}

function deliveryOf(raw: string) {
  const now = new Date();
  return {
    id: '',
    source: 'main',
    leadId: readLead(raw).id,
    version: 1,
    event: 'created',
    replay: false,
    firstSeenAt: now,
    changedAt: now,
    hash: hash('sha256', raw).slice(0, 32),
    raw,
  } as const;
}

/** A row in COPY's text format. */
function line(values: readonly (string | number | boolean | null)[]): string {
  return `${values.map(field).join('\t')}\n`;
}

function field(value: string | number | boolean | null): string {
  if (value === null) return '\\N';
  return String(value)
    .replaceAll('\\', '\\\\')
    .replaceAll('\t', '\\t')
    .replaceAll('\n', '\\n')
    .replaceAll('\r', '\\r');
}

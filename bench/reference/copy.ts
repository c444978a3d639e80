// Floor, a lower bound: transfer and parse, then COPY of the same rows to a temporary table and one INSERT … ON CONFLICT into the
// table that leadsync writes. Building the rows is reported as `excludedMs`, because a lower bound does not have to include it.
import { hash } from 'node:crypto';
import { parseArgs } from 'node:util';
import { Client } from 'pg';
import { request } from 'undici';
import { readLead } from '../../src/leads/lead.ts';
import { leadColumns } from '../../src/sinks/postgres/leads/lead-columns.ts';
import { migrations } from '../../src/sinks/postgres/schema/migrations.ts';
import { rowOf } from '../../src/sinks/table/lead-row.ts';
import { CopyIn } from './copy-in.ts';
import { eachLine } from './each-line.ts';

const { values } = parseArgs({
  options: { 'base-url': { type: 'string', default: '' }, postgres: { type: 'string', default: '' } },
});
const LEADS_PER_PART = 500;
const names = Object.keys(leadColumns) as (keyof typeof leadColumns)[];
const columns = [...names, '_leadsync_synced_at'];

const client = new Client({ connectionString: values.postgres });
await client.connect();
await client.query('CREATE SCHEMA leadsync; SET search_path = leadsync');
for (const step of migrations) await client.query(step);

await eachLine(async () => {
  const { body } = await request(`${values['base-url']}/api/v1/leads`);
  const leads: unknown[] = JSON.parse(await body.text());
  const rowsStartMs = performance.now();
  const rows = rowsFor(leads);
  const excludedMs = performance.now() - rowsStartMs;
  await client.query('BEGIN');
  await load(rows);
  await client.query('COMMIT');
  return { leads: leads.length, excludedMs };
});
await client.end();

async function load(parts: readonly Buffer[]): Promise<void> {
  await client.query('CREATE TEMPORARY TABLE incoming (LIKE leads) ON COMMIT DROP');
  await client.query(new CopyIn(`COPY incoming (${columns.join(', ')}) FROM STDIN`, parts)).done;
  const changing = columns.filter((name) => !['source', 'id'].includes(name));
  await client.query(`INSERT INTO leads SELECT * FROM incoming ON CONFLICT (source, id) DO UPDATE SET
    ${changing.map((name) => `${name} = excluded.${name}`).join(', ')}`);
}

/** Returns the rows in the text format of COPY, in parts. */
function rowsFor(leads: readonly unknown[]): Buffer[] {
  const parts: Buffer[] = [];
  for (let from = 0; from < leads.length; from += LEADS_PER_PART) {
    const lines = leads.slice(from, from + LEADS_PER_PART).map((lead) => {
      const row = rowOf(deliveryOf(JSON.stringify(lead)));
      return line([...names.map((name) => row.columns[name]), new Date().toISOString()]);
    });
    parts.push(Buffer.from(lines.join('')));
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

/** Returns a row in the text format of COPY. */
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

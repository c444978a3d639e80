// The same job, as a good engineer would write it in an hour: fetch the listing, parse it, look up new leads in SQLite, upsert
// them into PostgreSQL, post them to the webhook or write them to HubSpot, record their ids. No outbox, no retries, no streaming.
import { parseArgs } from 'node:util';
import Database from 'better-sqlite3';
import { Pool } from 'pg';
import { Pool as HttpPool } from 'undici';
import type { Lead } from '../../src/leads/lead.ts';
import { eachLine } from './each-line.ts';

type ListedLead = Omit<Lead, 'id'> & { id: number };

const { values } = parseArgs({
  options: {
    'base-url': { type: 'string', default: '' },
    seen: { type: 'string', default: '' },
    postgres: { type: 'string' },
    webhook: { type: 'string' },
    hubspot: { type: 'string' },
    'hubspot-token': { type: 'string', default: '' },
    concurrency: { type: 'string', default: '50' },
  },
});
const ROWS = 1_000;
/** Maximum records of a request to HubSpot. */
const RECORDS = 100;

const seen = new Database(values.seen);
seen.pragma('journal_mode = WAL');
seen.exec('CREATE TABLE IF NOT EXISTS seen (id INTEGER PRIMARY KEY)');
const pool =
  values.postgres === undefined ? undefined : new Pool({ connectionString: values.postgres, max: 1 });
await pool?.query(`
  CREATE SCHEMA IF NOT EXISTS plain;
  CREATE TABLE IF NOT EXISTS plain.leads (id bigint PRIMARY KEY, service_name text, service_slug text,
    created_at timestamptz, client_name text, client_email text, client_phone_number text, client_address text,
    all_details_one_liner text);
  CREATE TABLE IF NOT EXISTS plain.lead_answers (lead_id bigint REFERENCES plain.leads, position integer,
    question text, slug text, answer text, PRIMARY KEY (lead_id, position));`);
let token: string | undefined;

await eachLine(async () => {
  const leads = await listing();
  const known = new Set(seen.prepare('SELECT id FROM seen').pluck().all());
  const fresh = leads.filter((lead) => !known.has(lead.id));
  for (let from = 0; pool !== undefined && from < fresh.length; from += ROWS) {
    await store(pool, fresh.slice(from, from + ROWS));
  }
  if (values.webhook !== undefined) await post(values.webhook, fresh);
  if (values.hubspot !== undefined) await intoHubSpot(values.hubspot, fresh);
  const remember = seen.prepare('INSERT INTO seen VALUES (?)');
  seen.transaction(() => {
    for (const { id } of fresh) remember.run(id);
  })();
  return { leads: leads.length, fresh: fresh.length };
});
await pool?.end();

async function listing(): Promise<ListedLead[]> {
  token ??= await newToken();
  const response = await fetch(`${values['base-url']}/api/v1/leads`, {
    headers: { authorization: `Bearer ${token}` },
  });
  if (!response.ok) throw new Error(`the listing answered ${response.status}`);
  return (await response.json()) as ListedLead[];
}

async function newToken(): Promise<string> {
  const form = { grant_type: 'client_credentials', client_id: 'bench', client_secret: 'bench' };
  const response = await fetch(`${values['base-url']}/oauth/token`, {
    method: 'POST',
    body: new URLSearchParams(form),
  });
  const { access_token } = (await response.json()) as { access_token: string };
  return access_token;
}

async function store(pool: Pool, leads: readonly ListedLead[]): Promise<void> {
  await upsert(
    pool,
    'INSERT INTO plain.leads VALUES',
    leads.map((lead) => [
      lead.id,
      lead.service_name,
      lead.service_slug,
      lead.created_at,
      lead.client_name,
      lead.client_email,
      lead.client_phone_number,
      lead.client_address?.friendly_address ?? null,
      lead.all_details_one_liner,
    ]),
    `ON CONFLICT (id) DO UPDATE SET service_name = excluded.service_name, service_slug = excluded.service_slug,
      created_at = excluded.created_at, client_name = excluded.client_name, client_email = excluded.client_email,
      client_phone_number = excluded.client_phone_number, client_address = excluded.client_address,
      all_details_one_liner = excluded.all_details_one_liner`,
  );
  await upsert(
    pool,
    'INSERT INTO plain.lead_answers VALUES',
    leads.flatMap(({ id, service_question_answers: answers }) =>
      answers.map(({ question, slug, answer }, position) => [id, position, question, slug, answer]),
    ),
    `ON CONFLICT (lead_id, position) DO UPDATE SET question = excluded.question, slug = excluded.slug,
      answer = excluded.answer`,
  );
}

async function upsert(
  pool: Pool,
  insert: string,
  rows: readonly unknown[][],
  onConflict: string,
): Promise<void> {
  let parameter = 0;
  const tuples = rows.map((row) => `(${row.map(() => `$${++parameter}`).join(', ')})`);
  if (rows.length > 0) await pool.query(`${insert} ${tuples.join(', ')} ${onConflict}`, rows.flat());
}

async function post(url: string, leads: readonly ListedLead[]): Promise<void> {
  const rest = leads.values();
  const sender = async () => {
    for (const lead of rest) {
      const response = await fetch(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(lead),
      });
      if (!response.ok) throw new Error(`the webhook answered ${response.status}`);
      await response.arrayBuffer();
    }
  };
  await Promise.all(Array.from({ length: Number(values.concurrency) }, sender));
}

/** Makes a contact of each email address and a deal of each lead, and links them, without a look at what is there. */
async function intoHubSpot(url: string, leads: readonly ListedLead[]): Promise<void> {
  const http = new HttpPool(url, { connections: 1 });
  const call = async (path: string, inputs: readonly object[]) => {
    const { statusCode, body } = await http.request({
      method: 'POST',
      path,
      headers: { authorization: `Bearer ${values['hubspot-token']}`, 'content-type': 'application/json' },
      body: JSON.stringify({ inputs }),
    });
    const answer = (await body.json()) as { results: { id: string; properties: Record<string, string> }[] };
    if (statusCode >= 300) throw new Error(`HubSpot answered ${statusCode}: ${JSON.stringify(answer)}`);
    return answer.results;
  };
  const upsertInto = (object: string, idProperty: string, records: readonly Record<string, string>[]) =>
    call(
      `/crm/objects/2026-09/${object}/batch/upsert`,
      records.map((properties) => ({ idProperty, id: properties[idProperty], properties })),
    );
  for (let from = 0; from < leads.length; from += RECORDS) {
    const part = leads.slice(from, from + RECORDS);
    const persons = new Map(
      part.map((lead) => [
        lead.client_email,
        {
          email: lead.client_email,
          firstname: lead.client_name,
          phone: lead.client_phone_number,
          address: lead.client_address?.friendly_address ?? '',
        },
      ]),
    );
    const contacts = await upsertInto('contacts', 'email', [...persons.values()]);
    const deals = await upsertInto(
      'deals',
      'leadsync_key',
      part.map((lead) => ({
        leadsync_key: String(lead.id),
        dealname: lead.service_name,
        pipeline: 'default',
        dealstage: 'appointmentscheduled',
        description: lead.all_details_one_liner,
      })),
    );
    const contactOf = new Map(contacts.map(({ id, properties }) => [properties['email'], id]));
    const dealOf = new Map(deals.map(({ id, properties }) => [properties['leadsync_key'], id]));
    await call(
      '/crm/associations/2026-09/contacts/deals/batch/associate/default',
      part.map(({ id, client_email }) => ({
        from: { id: contactOf.get(client_email.toLowerCase()) },
        to: { id: dealOf.get(String(id)) },
      })),
    );
  }
  await http.close();
}

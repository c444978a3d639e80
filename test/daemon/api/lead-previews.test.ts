import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { loadConfig } from '../../../src/config/load-config.ts';
import { leadPreviews, tryOnLead } from '../../../src/daemon/api/lead-previews.ts';
import { QueryThread } from '../../../src/ledger/queries/start-query-thread.ts';
import { MappingProcess } from '../../../src/mapping/start-mapping-process.ts';
import { sinkTypes } from '../../../src/sinks/registry.ts';
import { Install } from '../../cli/an-install.ts';
import { aListedLead } from '../../support/scene/a-lead.ts';

const webhook = {
  type: 'webhook',
  url: 'http://127.0.0.1:9/hook',
  secret: 'whsec_c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0',
};
const sinks = {
  crm: {
    ...webhook,
    where: 'lead.service_slug != "gardening"',
    region: 'AU',
    fields: { name: 'lead.client_name', rooms: 'int(answer("rooms"))' },
  },
  drop: { type: 'csv', directory: './drop' },
  later: { type: 'csv', directory: './later', enabled: false },
  untouched: { ...webhook, region: 'AU', formerly: 'before' },
};

/** An installation with these sinks and leads, and what the operations of its pages work with. */
async function anInstallation(...leads: Record<string, unknown>[]) {
  const install = new Install({ sinks, lookups: { teams: { moving: 'team-blue' } } });
  const ledger = await install.recorded(leads.map((lead, position) => aListedLead(lead, position)));
  const queries = new QueryThread(join(install.folder, 'data', 'ledger.db'), { timeoutMs: 60_000 });
  const mappings = new MappingProcess(() => undefined, { timeoutMs: 60_000 });
  onTestFinished(() => Promise.all([queries.close(), mappings.close()]).then(() => undefined));
  const config = loadConfig(install.configFile, { sinkTypes, env: {} });
  const context = {
    parts: { current: { config }, clock: install.clock, rewriteCommands: (text: string) => text },
    mappings,
    query: queries.ask.bind(queries) as QueryThread['ask'],
  };
  const previewed = (lead: bigint) => leadPreviews({ source: 'main', lead }, context);
  const tried = (expression: string, lead?: bigint, sink?: string) =>
    tryOnLead({ expression, sink, key: lead === undefined ? undefined : { source: 'main', lead } }, context);
  return { install, ledger, previewed, tried };
}

const answers = (answer: string) => [{ question: 'Rooms?', slug: 'rooms', answer }];

test('shows what each sink would get, as `leadsync preview` does', async () => {
  const { previewed, install } = await anInstallation({
    id: 42,
    client_name: 'Ada "A" Example',
    service_question_answers: answers('3'),
  });
  const [crm, drop, later] = await previewed(42n);
  expect(crm).toMatchObject({
    sink: 'crm',
    type: 'webhook',
    state: 'sent',
    delivery_state: 'pending',
    reason: null,
    fields: [
      { name: 'name', json: '"Ada \\"A\\" Example"' },
      { name: 'rooms', json: '3' },
    ],
    previews: [{ target: 'POST http://127.0.0.1:9/[secret]', truncated: false }],
  });
  const printed = await install.json('preview', '--sink', 'crm', '--lead', '42');
  expect(printed).toMatchObject([{ content: crm?.previews[0]?.content }]);
  expect(drop).toMatchObject({ state: 'sent', fields: null, previews: [{ fields: [] }] });
  expect(drop?.previews[0]?.content).toContain('"Ada ""A"" Example"');
  expect(later).toMatchObject({
    state: 'withheld',
    reason: 'later is disabled in the configuration: nothing is sent to it.',
    previews: [{ truncated: false }],
  });
  expect(JSON.stringify(crm)).not.toContain('whsec_');
});

test('says which expression fails and where, and which lead `where` leaves out', async () => {
  const { previewed } = await anInstallation(
    { id: 1, service_question_answers: answers('many') },
    { id: 2, service_slug: 'gardening' },
  );
  expect((await previewed(1n))[0]).toMatchObject({
    state: 'withheld',
    reason: 'The expression of `rooms` failed for this lead at column 1: the text is not a whole number.',
    fields: null,
    previews: [],
  });
  expect((await previewed(2n))[0]).toMatchObject({
    state: 'withheld',
    reason: 'Left out by `where` of crm.',
  });
});

test('makes no preview of a lead of 8 MB, and says what shows it', async () => {
  const { previewed } = await anInstallation({ id: 7, all_details_one_liner: 'x'.repeat(8_000_000) });
  const [crm, drop] = await previewed(7n);
  expect(crm).toMatchObject({ state: 'withheld', reason: expect.stringContaining('more than 1 MB of text') });
  expect(drop).toMatchObject({
    state: 'sent',
    note: expect.stringContaining('`leadsync preview --sink drop --lead 7` shows what drop would get.'),
    previews: [],
  });
});

test('cuts a long preview', async () => {
  const { previewed } = await anInstallation({ id: 7, all_details_one_liner: 'x'.repeat(500_000) });
  const preview = (await previewed(7n))[1]?.previews[0];
  expect(preview?.truncated).toBe(true);
  expect(preview?.content).toHaveLength(100_000);
});

test('says of an erased lead that no content is left, and of an unknown one that it is unknown', async () => {
  const { previewed, tried, ledger } = await anInstallation({ id: 42, client_email: 'erase@example.org' });
  await ledger.erase(await ledger.findPerson({ kind: 'lead', lead: 42n }), []);
  const states = (await previewed(42n)).map(({ state, reason }) => `${state}: ${reason}`);
  expect(new Set(states)).toEqual(
    new Set([
      'withheld: The ledger has no content of this lead: it was rejected or erased, or `retention` removed its content.',
    ]),
  );
  await expect(tried('lead.id', 42n)).rejects.toMatchObject({ status: 404, code: 'no-content' });
  await expect(tried('lead.id', 43n)).rejects.toMatchObject({ status: 404, code: 'unknown-lead' });
});

test('evaluates an expression for a lead or the sample lead, with the region of a sink and the tables', async () => {
  const { tried } = await anInstallation({
    id: 42,
    service_slug: 'moving',
    client_phone_number: '0412 345 678',
  });
  const phone = 'phone(lead.client_phone_number)';
  expect(await tried('lead.key')).toMatchObject({ json: '"main:4711"' });
  expect(await tried(phone, 42n)).toMatchObject({ json: 'null' });
  expect(await tried(phone, 42n, 'crm')).toMatchObject({ json: '"+61412345678"' });
  // A sink with a region, and without a mapping so far.
  expect(await tried(phone, 42n, 'untouched')).toMatchObject({ json: '"+61412345678"' });
  expect(await tried('lookup("teams", lead.service_slug)', 42n)).toMatchObject({ json: '"team-blue"' });
  expect(await tried('delivery.id', 42n, 'crm')).toMatchObject({
    json: expect.stringMatching(/^"crm:main:42:1:/),
  });
  await expect(tried(phone, 42n, 'cmr')).rejects.toMatchObject({
    status: 404,
    code: 'unknown-sink',
    hint: 'The sinks are: crm, drop, later, untouched.',
  });
  await expect(tried(phone, 42n, 'before')).rejects.toMatchObject({
    message: 'There is no sink "before": it was renamed to untouched.',
  });
});

import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest';
import { cellsOf } from './cells-of.ts';
import { type OpenPages, openPages } from './open-pages.ts';

let pages: OpenPages;
beforeEach(async () => {
  pages = await openPages();
});
afterEach(() => pages.close());

async function textOf(path: string, url = pages.url): Promise<string> {
  return (await fetch(`${url}${path}`)).text();
}

test('the last poll of a source and its row in the history have the same label, by which the list can be filtered', async () => {
  const { operations } = pages;
  const rejected = { result: 'rejected' as const, problems: ['leads_rejected'], listing_rejected: 12 };
  operations.pollRows = operations.pollRows
    .slice(0, 3)
    .map((poll, at) => ({ ...poll, status: 'success', result: 'success', ...(at === 0 ? rejected : {}) }));
  operations.sources = operations.sources.map((source) => ({
    ...source,
    last_poll_status: 'success',
    problems: ['leads_rejected'],
    leads_rejected: 12,
  }));
  const all = await textOf('/polls');
  const [last] = operations.pollRows;
  expect(cellsOf(all, `poll-${last?.poll_id}`)['Status']?.trim()).toBe('12 rejected');
  expect(cellsOf(all, 'source-main')['Last poll']?.trim()).toBe('12 rejected');
  const filtered = await textOf('/polls?result=rejected');
  expect(filtered.match(/<tr id="poll-/g)).toHaveLength(1);
  expect(all).not.toContain('filter-status');
  expect(await textOf('/polls?status=success')).toContain('filter-status');
});

test('polls that found an unchanged listing are left out unless they are asked for, also from the CSV', async () => {
  const { operations } = pages;
  const of = (status: 'unchanged' | 'success') =>
    operations.pollRows.slice(0, 2).map((poll, at) => ({
      ...poll,
      poll_id: status === 'success' ? at + 1 : at + 11,
      status,
      result: at === 0 ? ('rejected' as const) : status,
    }));
  operations.pollRows = [...of('unchanged'), ...of('success')];
  const shown = async (query: string) =>
    [...(await textOf(`/polls${query}`)).matchAll(/<tr id="poll-(\d+)"/g)].map(([, id]) => Number(id));
  expect(await shown('')).toEqual([1, 2]);
  expect(await shown('?result=not-unchanged')).toEqual([1, 2]);
  expect(await shown('?result=any')).toHaveLength(4);
  expect(await shown('?result=unchanged')).toEqual([12]);
  expect(await shown('?result=rejected')).toEqual([11, 1]);
  expect(await shown('?status=unchanged')).toEqual([11, 12]); // an address of an earlier version
  expect(await textOf('/polls?source=main')).toContain(
    'href="/polls?source=main&amp;result=any">Show all polls',
  );
  expect(await textOf('/polls?result=any')).not.toContain('Show all polls');
  expect((await textOf('/polls.csv')).trim().split('\n')).toHaveLength(3);
  operations.pollRows = of('unchanged');
  expect(await textOf('/polls')).toContain('or every poll on record found an unchanged listing');
});

test('a failed or running poll that counted nothing has no counts', async () => {
  const { operations } = pages;
  const [first, second] = operations.pollRows;
  if (!first || !second) throw new Error('the world has polls');
  const nothing = { leads_listed: 0, leads_new: 0, leads_changed: 0, leads_rejected: 0 };
  operations.pollRows = [
    { ...first, ...nothing, status: 'running', result: 'running' },
    { ...second, ...nothing, status: 'failed', result: 'failed' },
  ];
  const html = await textOf('/polls');
  for (const { poll_id } of operations.pollRows)
    expect(cellsOf(html, `poll-${poll_id}`)).toMatchObject({ New: '–', Changed: '–', Rejected: '–' });
});

test('a source that is polled again after a failure is shown as failing', async () => {
  const { operations } = pages;
  operations.sources = operations.sources.map((source) => ({
    ...source,
    last_poll_status: 'running',
    error: 'It answered 500.',
    failing_since: source.last_poll_at,
    problems: ['poll_failed'],
  }));
  const html = await textOf('/polls');
  expect(html).toContain('>running</span> <span class="badge bad">failed before</span>');
  expect(html).toContain('It answered 500.</bdi> Polls have failed since');
});

test('after a refused login, the polls page says that *Poll now* does not ask the service sooner', async () => {
  const { operations } = pages;
  operations.sources = operations.sources.map((source) => ({
    ...source,
    last_poll_status: 'failed',
    error: 'The service refused to renew the login.',
    error_code: 'login-refused',
    failing_since: source.last_poll_at,
  }));
  const html = await textOf('/polls');
  expect(html).toContain('does not ask the service to renew the login sooner');
  expect(html).not.toContain('requests the listing immediately');
});

test('only an admin sees where the options of a sink come from', async () => {
  const viewer = await openPages({ role: 'viewer' });
  onTestFinished(() => viewer.close());
  expect(await textOf('/sinks/crm')).toContain('environment CRM_WEBHOOK_SECRET');
  const shown = await textOf('/sinks/crm', viewer.url);
  expect(shown).toContain('data-label="Option"');
  expect(shown).not.toContain('CRM_WEBHOOK_SECRET');
  expect(shown).not.toContain('leadsync.yaml');
});

test('the tile of the last poll names the source that was polled longest ago, and shows only its times', async () => {
  const { operations } = pages;
  const [one, other] = operations.sources;
  if (!one || !other) throw new Error('the world has two sources');
  operations.sources = [one, { ...other, last_poll_at: '2026-11-20T10:00:00.000Z', last_success_at: null }];
  const [tile = ''] = /<dl class="tiles">.*?<\/div>/s.exec(await textOf('/')) ?? [];
  expect(tile).toContain(`Last poll of ${other.source}`);
  expect(tile).toContain('no complete listing yet');
});

test('the tile of the last poll names the source whose polls fail, even if another one was polled longer ago', async () => {
  const { operations } = pages;
  const [one, other] = operations.sources;
  if (!one || !other) throw new Error('the world has two sources');
  operations.sources = [
    { ...one, last_poll_at: '2026-11-20T10:00:00.000Z', failing_since: null },
    { ...other, last_poll_at: '2026-11-20T10:00:04.000Z', failing_since: '2026-11-20T10:00:02.000Z' },
  ];
  const [tile = ''] = /<dl class="tiles">.*?<\/div>/s.exec(await textOf('/')) ?? [];
  expect(tile).toContain(`Last poll of ${other.source}`);
  expect(tile).toContain('<dd class="dead">');
  expect(tile).toContain('failed; ');
});

test('an unknown lead leads on to the list with its id, and every page to the runbook', async () => {
  const html = await textOf('/leads/main/4711');
  expect(html).toContain('href="/leads?lead=4711"');
  expect(html).toContain('<footer><a href="/runbook">Runbook</a></footer>');
});

test('the playground suggests a lead that exists', async () => {
  const [lead] = pages.operations.leadRows;
  expect(await textOf('/playground')).toContain(`placeholder="${lead?.source}:${lead?.lead_id}"`);
});

test('the audit log can be filtered by choosing an action', async () => {
  expect(await textOf('/audit')).toMatch(/<select id="filter-what".*<option value="token refused"/s);
});

test('the page of the configuration shows when it came into force', async () => {
  const { loaded_at } = pages.operations.config;
  const since = /In force since<\/dt><dd>(.*?)<\/dd>/s.exec(await textOf('/configuration'))?.[1];
  expect(since).toContain(`datetime="${loaded_at}"`);
  expect(since).toContain('data-local');
});

test('the log can be filtered by event, by source or sink, and by text, and its CSV has the same lines', async () => {
  const linesOf = async (query: string) =>
    [...(await textOf(`/log${query}`)).matchAll(/<tr id="line-/g)].length;
  expect(await linesOf('')).toBe(3);
  expect(await linesOf('?event=sink-held')).toBe(1);
  expect(await linesOf('?source=main')).toBe(1);
  expect(await linesOf('?sink=crm')).toBe(1);
  expect(await linesOf('?text=ANSWERED+503')).toBe(1);
  expect(await linesOf('?sink=crm&event=sink-held')).toBe(0);
  expect((await textOf('/log.csv?sink=crm')).trim().split('\n')).toHaveLength(2);
});

test('neither the name of an event nor a number and its unit is broken into two lines', async () => {
  const [line] = pages.operations.logLines;
  if (!line) throw new Error('the log has lines');
  pages.operations.logLines = [{ ...line, message: 'It took 1.5 s.' }];
  const html = await textOf('/log');
  expect(html).toContain('<span class="nowrap">sink-held</span>');
  expect(html).toContain('It took 1.5\u00a0s.');
});

test('rejected leads are counted by fault, in total, and lead on to their polls and to the runbook', async () => {
  const at = '2026-11-20T10:00:00.000Z';
  const polls = { poll_id: 3, rejected_at: at, last_poll_id: 4, last_rejected_at: at, resolved_at: null };
  pages.operations.rejectedRows = [1, 2, 3].map((no) => ({
    rejected_id: no,
    source: 'main',
    lead_id: String(no),
    path: 'created_at',
    reason: no === 1 ? 'is missing' : 'must be text',
    ...polls,
    state: 'open',
  }));
  const html = await textOf('/rejected');
  expect(html).toContain('<span>3 rejected leads</span>');
  expect(cellsOf(html, 'fault-0')).toEqual({ Leads: '2', Source: 'main', Fault: 'created_at must be text' });
  expect(cellsOf(html, 'fault-1')).toMatchObject({ Leads: '1' });
  expect(html).toContain('href="/polls?source=main&amp;after=0.4"');
  expect(html).toContain('href="/runbook/leads-rejected"');
  const shown = await (await fetch(`${pages.url}/rejected/2/data`, { method: 'POST' })).text();
  expect(shown).toContain('class="whole"');
  expect(shown).toContain('First rejected');
  expect(shown).toContain('href="/polls?source=main&amp;after=0.5"');
  expect(shown).toMatch(/<a class="button" href="\/rejected\?source=main">Back to the rejected leads/);
});

test('the list of leads shows for how many sinks a lead is dead, and can be limited to leads not delivered everywhere', async () => {
  const [first] = pages.operations.leadRows;
  const html = await textOf('/leads?delivered=not-everywhere');
  expect(cellsOf(html, `lead-main-${first?.lead_id}`)['Delivered']).toBe('3 of 4, 1 dead');
  expect(html).not.toContain('4 of 4');
});

test('the page of a lead begins with the deliveries that have not arrived', async () => {
  const { operations } = pages;
  const [lead] = operations.leadRows;
  const own = operations.deliveryRows.find(({ lead_id }) => lead_id === lead?.lead_id);
  if (!own) throw new Error('the lead has deliveries');
  const states = ['delivered', 'pending', 'dead'] as const;
  operations.deliveryRows = states.map((state, at) => ({ ...own, delivery_id: `d${at}`, state }));
  const html = await textOf(`/leads/main/${lead?.lead_id}`);
  const shown = [...html.matchAll(/<tr id="delivery-.*?class="badge [a-z]+">([a-z]+)</gs)].map(
    ([, state]) => state,
  );
  expect(shown).toEqual(['dead', 'pending', 'delivered']);
});

test('the preview for a sink that has the lead offers to replay it', async () => {
  const [lead] = pages.operations.leadRows;
  const html = await (
    await fetch(`${pages.url}/leads/main/${lead?.lead_id}/previews`, { method: 'POST' })
  ).text();
  const [previews = ''] = /<section id="previews">.*?<\/section>/s.exec(html) ?? [];
  expect(previews).toContain(`action="/leads/main/${lead?.lead_id}/replay?sink=crm"`);
});

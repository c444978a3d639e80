import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { Overview } from '../../../src/admin/contract/overview.ts';
import type { PollRow } from '../../../src/admin/contract/polls.ts';
import type { Role } from '../../../src/platform/options/role.ts';
import { type OpenPages, openPages } from './open-pages.ts';

let pages: OpenPages;
beforeEach(async () => {
  pages = await openPages();
});
afterEach(() => pages.close());

/** Returns the text of a row, without its elements. */
async function row(id: string, path = '/', from = pages): Promise<string> {
  const html = await (await fetch(`${from.url}${path}`)).text();
  const [, inner = ''] = new RegExp(`<tr id="${id}">(.*?)</tr>`, 's').exec(html) ?? [];
  return inner
    .replace(/<br\/?>/g, ' ')
    .replace(/<[^>]+>/g, '')
    .replace(/\s+/g, ' ')
    .trim();
}

test('the speed of a sink stands beside how many leads wait, and for how long the oldest does', async () => {
  const { operations } = pages;
  operations.sinkRows = operations.sinkRows.map((sink) =>
    sink.sink === 'crm' ? { ...sink, pending: 500, oldest_owed_at: '2026-11-21T12:30:00Z' } : sink,
  );
  expect(await row('speed-crm')).toMatch(/p50 182 ms ?p95 911 ms.*500 ?oldest 2 h 2 min ago$/);
});

test('a sink that is owed nothing, or that has gone, has none pending beside its speed', async () => {
  const { operations } = pages;
  operations.sinkRows = operations.sinkRows
    .filter(({ sink }) => sink !== 'drop')
    .map((sink) => ({ ...sink, pending: 0, oldest_owed_at: null }));
  expect(await row('speed-crm')).toMatch(/p95 31.2 s0$/);
  expect(await row('speed-drop')).toMatch(/p95 2 min 23 s0$/);
});

const error = 'The service answered 503';
const note =
  'The service answered 503. Polls have failed since 21 Nov 2026, 13:50:30 UTC. Poll now requests the listing immediately; the next poll is in 3 min.';

/** Lets the polls of main fail. */
function fail({ operations }: OpenPages): void {
  operations.sources = operations.sources.map((source) => ({
    ...source,
    last_poll_status: 'failed',
    error,
    failing_since: '2026-11-21T13:50:30Z',
    next_poll_at: '2026-11-21T14:36:00Z',
  }));
}

test.each(['/', '/polls'])(
  'on %s a source says since when its polls fail, and what Poll now does',
  async (path) => {
    expect(await row('source-main', path)).not.toContain('failed');
    fail(pages);
    expect(await row('source-main', path)).toContain(`failed ${note}`);
  },
);

test('the page does not describe the poll button to a reader who may not poll', async () => {
  const role: Role = 'viewer';
  const viewed = await openPages({ role });
  fail(viewed);
  const text = await row('source-main', '/', viewed);
  await viewed.close();
  expect(text).toContain('Polls have failed since 21 Nov 2026, 13:50:30 UTC; the next poll is in 3 min.');
});

/** Returns the line about problems on a page, and where it leads. */
async function stateLine(path: string): Promise<readonly [text: string, address: string | undefined]> {
  const html = await (await fetch(`${pages.url}${path}`)).text();
  const [, inner = ''] = /<p id="state"[^>]*>(.*?)<\/p>/s.exec(html) ?? [];
  return [
    inner
      .replace(/<[^>]+>/g, '')
      .replace(/\s+/g, ' ')
      .trim(),
    /href="([^"]+)"/.exec(inner)?.[1],
  ];
}

test('the page of a sink names the problem of that sink first', async () => {
  expect((await stateLine('/sinks/crm'))[0]).toMatch(
    /^2 critical, 1 warning: 3 deliveries to crm are dead.* Also: warehouse \(sink held\), lake \(export fails\)$/,
  );
  expect((await stateLine('/deliveries?sink=crm'))[0]).toMatch(/warning: 3 deliveries to crm are dead/);
});

test.each([
  ['sink=crm&reason=422', 'Filter: Sink crm, Reason or HTTP status 422. '],
  ['reason=HTTP+422%29.', 'Filter: Reason or HTTP status HTTP 422). '],
  ['', 'No filter is set: this applies to every sink and source.'],
])('the question about all deliveries of the filter "%s" names it', async (filter, text) => {
  for (const action of ['retry', 'discard']) {
    const answer = await fetch(`${pages.url}/deliveries/${action}?${filter}`, {
      method: 'POST',
      headers: { origin: pages.url },
      body: new URLSearchParams({ all: 'yes' }),
    });
    expect(await answer.text()).toContain(text);
  }
});

test('a poll with a far smaller listing says how many leads the listing before had', async () => {
  const { operations } = pages;
  const { rows } = await operations.polls({}, { limit: 1 });
  const shrunk = {
    ...rows[0],
    leads_listed: 92,
    listed_before: 366,
    problems: ['listing_shrunk'],
  } as PollRow;
  vi.spyOn(operations, 'polls').mockResolvedValueOnce({ rows: [shrunk], next: null });
  const html = await (await fetch(`${pages.url}/polls`)).text();
  expect(html.replace(/<[^>]+>/g, ' ').replace(/\s+/g, ' ')).toContain(' 92 366 before ');
});

test('the card of a sink with dead deliveries says what to do before a retry', async () => {
  const html = await (await fetch(`${pages.url}/sinks`)).text();
  const [, card = ''] = /<section class="card" id="sink-crm">(.*?)<\/section>/s.exec(html) ?? [];
  const { message } = pages.operations.problems.find(({ code }) => code === 'deliveries_dead') ?? {};
  expect(message).toBeDefined();
  expect(card.replace(/<[^>]+>/g, '').replace(/\s+/g, ' ')).toContain(
    `${message} See why, and fix the cause before you retry. See 3 dead`,
  );
  expect(card).toContain('<dd><a href="/deliveries?sink=crm&amp;state=dead" class="dead">3</a></dd>');
});

test('a sink that was removed with dead deliveries offers to discard them, but not to retry them', async () => {
  const { operations } = pages;
  const step = 'Discard them, or add the sink again and retry them.';
  operations.sinkRows = operations.sinkRows.map((sink) =>
    sink.sink === 'crm' ? { ...sink, state: 'orphaned' as const, pending: 0 } : sink,
  );
  operations.problems = operations.problems
    .filter(({ code }) => code === 'deliveries_dead')
    .map((one) => ({ ...one, page_step: step }));
  const textOf = async (path: string, pattern: RegExp) => {
    const [html = ''] = pattern.exec(await (await fetch(`${pages.url}${path}`)).text()) ?? [];
    return html.replace(/<[^>]+>/g, ' ').replace(/\s+/g, ' ');
  };
  const problem = await textOf('/', /<ul class="problems".*?<\/ul>/s);
  expect(problem).toMatch(new RegExp(`${step}.* See 3 dead Discard… See runbook`));
  const card = await textOf('/sinks', /<section class="card" id="sink-crm">.*?<\/section>/s);
  expect(card).toMatch(new RegExp(`orphaned.* No longer in the configuration\\. .*${step} See 3 dead`));
});

test('a sink that was removed with pending deliveries has no circuit breaker, and the command that skips them', async () => {
  const { operations } = pages;
  operations.sinkRows = operations.sinkRows.map((sink) =>
    sink.sink === 'crm' ? { ...sink, state: 'orphaned' as const, pending: 2 } : sink,
  );
  const html = await (await fetch(`${pages.url}/sinks/crm`)).text();
  expect(html).toContain('leadsync forget crm</code> skips them.');
  expect(html).not.toContain('Circuit breaker');
});

test('the card of a sink says when the next attempt is, and nothing if nothing is pending', async () => {
  const { operations } = pages;
  const nextOf = async (sink: string) => {
    const html = await (await fetch(`${pages.url}/sinks`)).text();
    const [, card = ''] = new RegExp(`id="sink-${sink}">(.*?)</section>`, 's').exec(html) ?? [];
    return /<dt>(Next \w+)<\/dt><dd>(?:<time[^>]*>)?([^<]*)/.exec(card)?.slice(1);
  };
  expect(await nextOf('warehouse')).toEqual(['Next probe', '21 Nov 2026, 14:32:30 UTC']);
  expect(await nextOf('crm')).toEqual(['Next attempt', '21 Nov 2026, 14:32:59 UTC']);
  expect(await nextOf('drop')).toEqual(['Next attempt', 'with the next batch']);
  operations.sinkRows = operations.sinkRows.map((sink) => ({ ...sink, pending: 0 }));
  expect(await nextOf('drop')).toBeUndefined();
});

test('the list of dead deliveries names the problem of dead deliveries first', async () => {
  const dead = /^2 critical, 1 warning: 3 deliveries to crm are dead/;
  expect((await stateLine('/deliveries?state=dead'))[0]).toMatch(dead);
  expect((await stateLine('/deliveries?state=dead&sink=drop'))[0]).toMatch(dead);
  expect((await stateLine('/deliveries?state=dead&sink=warehouse'))[0]).toMatch(
    /: The sink warehouse has been held/,
  );
  expect((await stateLine('/deliveries'))[0]).not.toMatch(dead);
});

test('every other page counts problems by severity, names the most severe and links to its row', async () => {
  const { operations } = pages;
  const [text, address] = await stateLine('/leads');
  expect(text).toBe(
    '2 critical, 1 warning: The sink warehouse has been held for 38 min: the database refuses connections. Also: crm (deliveries dead), lake (export fails)',
  );
  expect(address).toBe('/#problem-sink_held-warehouse');
  expect(await (await fetch(pages.url)).text()).toContain('<li id="problem-sink_held-warehouse"');
  operations.problems = operations.problems.toReversed();
  expect((await stateLine('/leads'))[0]).toMatch(/^2 critical, 1 warning: 3 deliveries to crm are dead/);
  operations.problems = operations.problems.filter(({ severity }) => severity === 'warning');
  expect((await stateLine('/leads'))[0]).toMatch(/^1 warning: Export lake failed/);
  operations.problems = [];
  expect(await stateLine('/leads')).toEqual(['', undefined]);
});

/** Returns the text of a page, with `[` and `]` around that of each link. */
async function linked(path: string): Promise<string> {
  const html = await (await fetch(`${pages.url}${path}`)).text();
  return html
    .replace(/<a [^>]*>/g, '[')
    .replace(/<\/a>/g, ']')
    .replace(/<[^>]+>/g, ' ')
    .replace(/\s+/g, ' ');
}

test('a count links to the list of what it counts; a 0 has no link', async () => {
  const { operations } = pages;
  const count = (pending: number, rejected: number) => {
    operations.sinkRows = operations.sinkRows
      .slice(0, 1)
      .map((sink) => ({ ...sink, pending, dead: pending, delivered: pending, skipped: pending }));
    operations.sources = operations.sources.map((one) => ({ ...one, leads_rejected: rejected }));
  };
  count(0, 0);
  expect(`${await linked('/')} ${await linked('/sinks')}`).not.toMatch(/\[ ?0 ?\]/);
  count(7, 3);
  expect(await linked('/')).toMatch(/\[3\].*Pending now [^[]*\[7\].*Dead now [^[]*\[7\]/);
  expect(await linked('/sinks')).toMatch(/Pending \[7\].*Dead \[7\].*Delivered \[7\].*Skipped \[7\]/);
});

test('the sinks come before the speed to lead, and each tile names its period', async () => {
  const text = await linked('/');
  const order = [
    'Sinks',
    'Sources',
    'Last poll of',
    'New leads, last 24 hours',
    'Pending now',
    'Dead now',
    'Speed to lead',
  ];
  const places = order.map((words) => text.indexOf(` ${words} `));
  expect(places).not.toContain(-1);
  expect(places).toEqual(places.toSorted((one, other) => one - other));
  expect(text).toContain('Delivered, total');
});

test.each([
  ['moving house', ': moving house. Its leads wait until you resume it.'],
  ['It moves.', ': It moves. Its leads wait until you resume it.'],
  [null, '. Its leads wait until you resume it.'],
])('the sentence after the reason of a pause (%s) begins after a full stop', async (reason, text) => {
  const { operations } = pages;
  operations.sinkRows = operations.sinkRows
    .filter(({ sink }) => sink === 'crm')
    .map((sink) => ({ ...sink, state: 'paused', reason, since: '2026-11-21T14:30:00Z' }));
  expect(await linked('/sinks')).toContain(`Paused since 21 Nov 2026, 14:30:00 UTC ${text}`);
});

test('the card of a sink says where the sink delivers, and how well it has done so in the last hour', async () => {
  const [sink] = pages.operations.sinkRows;
  pages.operations.sinkRows = sink ? [sink] : [];
  expect(await linked('/sinks')).toMatch(
    /crm.example.com\/ ?\[secret\].*Success, 1 h [\d.]+%.*Batch duration, p50 \d+ ms/,
  );
});

test('the filter of leads suggests the services that there are', async () => {
  const text = await (await fetch(`${pages.url}/leads?service=painting`)).text();
  const [, list = ''] = /<input [^>]*name="service"[^>]* list="([^"]+)"/.exec(text) ?? [];
  const [, options = ''] = new RegExp(`<datalist id="${list}">(.*?)</datalist>`, 's').exec(text) ?? [];
  expect(options).toContain('<option value="solar-panels">');
  expect(text).toMatch(/name="service"[^>]* value="painting"/);
});

test('a backup shows its state, its schedule, and the leads in the last one', async () => {
  expect(await row('backup-daily')).toBe(
    'dailymade /srv/leads/exportsdaily at 03:00 (Australia/Brisbane)21 h 30 min ago48,21421.4 MB21 Nov 2026, 17:02:07 UTCBack up now…',
  );
  expect(await row('backup-off-site')).toMatch(
    /^off-sitefailed 3 times in a row: The storage does not answer \(ECONNREFUSED\)\.s3:.*every 1 h3 h 30 min ago6140 kB/,
  );
});

/** Returns the tiles of a page as text, such as `Dead 3 given up`. */
async function tiles(path: string): Promise<string[]> {
  const html = await (await fetch(`${pages.url}${path}`)).text();
  const [, inner = ''] = /<dl class="tiles">(.*?)<\/dl>/s.exec(html) ?? [];
  return [...inner.matchAll(/<div><dt>(.*?)<\/dt><dd[^>]*>(.*?)<\/dd><\/div>/gs)].map(
    ([, label, value = '']) => `${label}: ${value.replace(/<small>/, ' ').replace(/<(?!\/?a\b)[^>]+>/g, '')}`,
  );
}

test.each([
  [4.26, 12.5, '4.3 an hour ago: 13'],
  [0, 0.04, '0 an hour ago: 0'],
  [9.96, 1_234.4, '10 an hour ago: 1,234'],
])(
  'the rate of deliveries, %d per minute, stands beside that of an hour ago, %d',
  async (now, before, text) => {
    pages.operations.rate = { now, hour_ago: before };
    expect(await tiles('/')).toContain(`Delivered per minute: ${text}`);
  },
);

test('a tile of a sink links to its deliveries if there are any', async () => {
  expect((await tiles('/sinks/crm')).slice(3)).toEqual([
    'Pending: <a href="/deliveries?sink=crm&amp;state=pending">1</a> oldest owed 4 min ago',
    'Dead: <a href="/deliveries?sink=crm&amp;state=dead">3</a> given up',
  ]);
  expect((await tiles('/sinks/drop'))[4]).toBe('Dead: 0 none was given up');
});

test('the machines are shown if several may use the ledger: what each does, and which one is missing', async () => {
  expect(await (await fetch(pages.url)).text()).not.toContain('Machines');
  const at = '2026-11-21T14:31:00Z';
  const one: Overview['machines'][number] = {
    machine: 'a-1',
    role: 'run',
    state: 'works',
    version: '1.2.3',
    config_fingerprint: '0123456789ab',
    clock_ahead_seconds: 0.02,
    started_at: '2026-11-21T12:32:00Z',
    last_seen_at: at,
    sinks: ['crm'],
    duties: ['alerts', 'poll:main'],
  };
  const missing: Overview['machines'][number] = {
    ...one,
    machine: 'b-2',
    state: 'missing',
    version: null,
    config_fingerprint: null,
    duties: [],
  };
  pages.operations.machines = [one, missing];
  const id = (machine: string) => `machine-${machine}-run-${Date.parse(one.started_at)}`;
  expect(await row(id('a-1'))).toMatch(
    /^a-1works run ?alerts, polls of main1\.2\.30123456789ab2 h ago1 min 7 s ago$/,
  );
  expect(await row(id('b-2'))).toMatch(/^b-2missing run ?–––2 h ago1 min 7 s ago$/);
});

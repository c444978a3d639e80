import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { RequestError } from '../../../src/admin/contract/request-error.ts';
import type { Role } from '../../../src/platform/options/role.ts';
import { rewriteCommands } from '../../../src/platform/process/typed-command.ts';
import { type OpenPages, openPages } from './open-pages.ts';

let pages: OpenPages;
beforeEach(async () => {
  pages = await openPages();
});
afterEach(() => pages.close());

function ask(path: string, more: RequestInit = {}): Promise<Response> {
  return fetch(`${pages.url}${path}`, { redirect: 'manual', ...more });
}

function post(path: string, fields: Record<string, string> = {}): Promise<Response> {
  return ask(path, { method: 'POST', body: new URLSearchParams(fields) });
}

describe('every page', () => {
  test.each([
    '/',
    '/leads',
    '/leads/find',
    '/deliveries',
    '/sinks',
    '/sinks/crm',
    '/sinks/warehouse?period=7d',
    '/polls',
    '/log',
    '/log?level=warn',
    '/playground',
    '/playground?source=main&lead=48196&sink=crm',
    '/configuration',
    '/runbook/the-first-minute',
    '/leads/main/48196',
    '/login',
  ])('%s forbids inline code, and loads nothing from elsewhere', async (path) => {
    const answer = await ask(path);
    const html = await answer.text();
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-security-policy')).toBe(
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    );
    expect(html).not.toMatch(
      /<script(?![^>]* src=)|<style|\sstyle=|\son[a-z]+=|https?:\/\/(?!www\.w3\.org)[^<]*"/,
    );
    const loaded = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map((match) => match[1] ?? '');
    expect(loaded.filter((address) => !address.startsWith('/') && !address.startsWith('#'))).toEqual([]);
    expect(html).not.toContain('Ada Example');
  });

  test('of a list has the number of matching rows, and all of them as CSV without formulas', async () => {
    const { operations } = pages;
    const page = await (await ask('/leads?source=main')).text();
    const main = operations.leadRows.filter(({ source }) => source === 'main');
    const summary = `<span>${main.length} leads</span> <a href="/leads.csv?source=main"`;
    expect(page.includes(summary)).toBe(true);
    const answer = await ask('/leads.csv?source=main');
    expect(answer.headers.get('content-type')).toBe('text/csv; charset=utf-8');
    expect(answer.headers.get('content-disposition')).toBe('attachment; filename="leads-main.csv"');
    const lines = (await answer.text()).split('\r\n');
    expect(lines[0]).toBe(
      'source,lead_id,service_slug,version,created_at,first_seen_at,changed_at,last_listed_at,gone_at,sinks,sinks_delivered,sinks_dead',
    );
    expect(lines.slice(1, -1).map((line) => line.split(',')[1])).toEqual(main.map(({ lead_id }) => lead_id));
    const [dead] = operations.deliveryRows.filter(({ state }) => state === 'dead');
    Object.assign(dead ?? {}, { reason: '=1+1, "so"' });
    const deliveries = await ask('/deliveries.csv?state=dead');
    expect(deliveries.headers.get('content-disposition')).toBe('attachment; filename="deliveries-dead.csv"');
    expect(await deliveries.text()).toContain(`,"'=1+1, ""so""",`);
    expect((await (await ask('/polls.csv')).text()).startsWith('poll_id,source,started_at,')).toBe(true);
    expect((await ask('/deliveries.csv?state=gone')).status).toBe(400);
  });

  test.each([
    ['/leads?source=main', 'First seen'],
    ['/leads?listing=gone', 'Gone since'],
    ['/deliveries?sink=crm', 'Owed'],
    ['/polls?source=main', 'Started'],
  ])('%s is sorted by a link in its heading; page, pager and CSV keep the order', async (path, label) => {
    const [, query = ''] = path.split('?');
    const idsOf = (html: string) => [...html.matchAll(/<tr id="([^"]+)"/g)].map((match) => match[1]);
    const newest = await (await ask(path)).text();
    const heading = new RegExp(
      `<th[^>]*aria-sort="descending"><a class="sort" href="([^"]+)"[^>]*>${label} `,
    );
    const oldestPath = heading.exec(newest)?.[1]?.replaceAll('&amp;', '&') ?? '';
    expect(oldestPath).toBe(`${path}&order=oldest`);
    const oldest = await (await ask(oldestPath)).text();
    expect(oldest).toMatch(
      new RegExp(`aria-sort="ascending"><a class="sort" href="${path}"`.replace('?', '\\?')),
    );
    const csv = async (of: string) => (await (await ask(of)).text()).trimEnd().split('\r\n').slice(1);
    const csvPath = `${path.split('?')[0]}.csv?${query}`;
    expect(await csv(`${csvPath}&order=oldest`)).toEqual((await csv(csvPath)).toReversed());
    expect(oldest).toContain(`.csv?${query}&amp;order=oldest"`);
    expect(idsOf(oldest).length).toBeGreaterThan(0);
    if (newest.includes('>Older</a>')) {
      expect(oldest).toContain(`?${query.replaceAll('&', '&amp;')}&amp;order=oldest&amp;after=`);
      expect(oldest).toContain('>Newer</a>');
      expect(idsOf(oldest)).not.toEqual(idsOf(newest).toReversed());
    }
  });

  test('of pending deliveries begins with the oldest, unless the reader chooses, and marks the probe', async () => {
    const { operations } = pages;
    const html = async (query: string) => (await ask(`/deliveries?${query}`)).text();
    const pending = operations.deliveryRows.filter(({ state }) => state === 'pending');
    const ids = (text: string) => [...text.matchAll(/<tr id="delivery-([^"]+)"/g)].map(([, id]) => id);
    const oldest = pending.map(({ delivery_id }) => delivery_id).toReversed();
    const first = await html('state=pending');
    expect(ids(first)).toEqual(oldest);
    expect(first).toContain('<option value selected>oldest first</option>');
    expect(first).toContain(
      'aria-sort="ascending"><a class="sort" href="/deliveries?state=pending&amp;order=newest"',
    );
    expect(ids(await html('state=pending&order=newest'))).toEqual(oldest.toReversed());
    expect(ids(await html('state=pending&order=oldest'))).toEqual(oldest);
    const csv = await (await ask('/deliveries.csv?state=pending')).text();
    expect(csv.indexOf(oldest[0] ?? '')).toBeLessThan(csv.indexOf(oldest.at(-1) ?? ''));
    const at = '2126-11-21T14:32:30.000Z'; // the page compares with the present time
    const held = (row: { readonly sink: string }) => row.sink === 'warehouse';
    operations.sinkRows = operations.sinkRows.map((row) =>
      held(row) ? { ...row, next_attempt_at: at } : row,
    );
    const [probe] = pending;
    Object.assign(probe ?? {}, { next_attempt_at: at });
    const rows = (await html('state=pending')).split('<tr id="delivery-').slice(1);
    const marked = rows.filter((row) => /data-label="Settled or next"><div>probe at <time/.test(row));
    expect(ids(marked.map((row) => `<tr id="delivery-${row}`).join(''))).toEqual([probe?.delivery_id]);
  });

  test('of the log shows lines of a minimum level, and of the same time in their order', async () => {
    const html = await (await ask('/log?level=warn')).text();
    expect(html.match(/id="line-[\d-]+"/g)).toEqual([
      'id="line-1795271520120-1"',
      'id="line-1795271491900-1"',
    ]);
    expect(html.includes('source main: 1 new lead.')).toBe(false);
    expect((await (await ask('/log')).text()).includes('id="line-1795271491900-2"')).toBe(true);
  });

  test('of exports allows a line break within a path or an address, but not in its scheme or in markup', async () => {
    const texts = ['s3://acme-leads/leadsync/2026', '/srv/drop', 'a </b> b', '1 / 2'];
    pages.operations.backups = [];
    pages.operations.exports = pages.operations.exports
      .slice(0, texts.length)
      .map((one, at) => ({ ...one, target: texts[at] ?? '' }));
    const html = await (await ask('/')).text();
    const shown = [...html.matchAll(/data-label="Goes to"><div><bdi>(.*?)<\/bdi>/g)].map((match) => match[1]);
    expect(shown).toEqual([
      's3://acme-leads/<wbr/>leadsync/<wbr/>2026',
      '/srv/<wbr/>drop',
      'a &lt;/b> b',
      '1 / 2',
    ]);
  });

  test('of the log shows fifty lines, and links to older ones and back', async () => {
    pages.operations.logLines = Array.from({ length: 120 }, (_, at) => ({
      at: new Date(Date.parse('2026-11-21T14:32:00Z') - Math.floor(at / 2) * 1000).toISOString(),
      level: 'info',
      event: 'poll-finished',
      source: 'main',
      sink: null,
      message: `line ${at}.`,
    }));
    const seen: string[] = [];
    let next: string | undefined = '/log';
    for (let count = 0; next !== undefined; count++) {
      const html: string = await (await ask(next)).text();
      const lines = [...html.matchAll(/<bdi>(line \d+\.)<\/bdi>/g)].map((match) => match[1] ?? '');
      expect(lines.length).toBe([50, 50, 20][count]);
      seen.push(...lines);
      expect(html.includes('rel="first" href="/log"')).toBe(count > 0);
      next = /rel="next" href="([^"]+)"/.exec(html)?.[1];
    }
    expect(seen).toEqual(Array.from({ length: 120 }, (_, at) => `line ${at}.`));
    const csv = await (await ask('/log.csv')).text();
    expect(csv.match(/line \d+/g)).toHaveLength(120);
    expect(await (await ask('/log?after=line-1-1')).text()).toContain('There are no older rows.');
  });

  test('that finds a person shows the leads, keeps the text out of addresses, and continues with older leads', async () => {
    const answer = await post('/leads/find', { text: '4' });
    expect(answer.status).toBe(200);
    const html = await answer.text();
    expect(html).toContain('<bdi>Client 48196</bdi>');
    expect(html).not.toMatch(/(?:href|action)="[^"]*text=/);
    expect(/Search older leads|All lead versions were searched/.exec(html)?.[0]).toBe('Search older leads');
    const after = /name="after" value="(\d+)"/.exec(html)?.[1] ?? '';
    const older = await (await post('/leads/find', { text: '4', after })).text();
    expect(older.includes('found-main-48196')).toBe(false);
    expect(/<p role="status">50 older leads\./.test(older)).toBe(true);
    expect(pages.operations.actions).toEqual(['find 4', 'find 4']);
  });

  test('of sinks shows the daily limit of a destination, and the leads that `where` left out since the last delivery', async () => {
    const text = (await (await ask('/sinks')).text()).replace(/<[^>]+>/g, ' ').replace(/\s+/g, ' ');
    expect(text).toMatch(/Left out since then 7 Daily limit 12,345 of 250,000 API requests .+ ago/);
  });

  test('is never cached, but its assets are cached permanently, under names computed from their content', async () => {
    const html = await (await ask('/')).text();
    const assets = [...html.matchAll(/"(\/assets\/[^"]+)"/g)].map((match) => match[1] ?? '');
    expect(assets.length).toBeGreaterThan(6);
    for (const asset of new Set(assets)) {
      const answer = await ask(asset);
      expect(answer.status, asset).toBe(200);
      expect(answer.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
      expect(asset).toMatch(/-[\w-]{12}\.(css|js|svg)$/);
    }
  });
});

describe('the page of a sink', () => {
  const textOf = async (path: string, more?: RequestInit) =>
    (await (await ask(path, more)).text()).replace(/<[^>]+>/g, ' ').replace(/\s+/g, ' ');

  test('shows its breaker, rates, durations, statuses, errors, backlog, holds and last attempts', async () => {
    const text = await textOf('/sinks/crm');
    for (const shown of [
      '11 of its last 100 batches failed. It is held when 18 of the last 20 fail.',
      'Failure rate 11% of the last 100 batches',
      'Held as soon as 18 of the last 20 batches failed; 5 batches in a row failed, and no lead was delivered for 5 s; 5 leads in a row were refused; or the destination asks for a pause',
      'does not count in the failure rate; only 5 such leads in a row hold the sink.',
      /Success rate, 24 hours [\d.]+% [\d,]+ of [\d,]+ attempts/,
      'Speed to lead, p50 410 ms p95 1.9 s, 214 new leads measured',
      'Speed to lead measures at most 1,000 leads, spread evenly over the period.',
      'Duration of a batch, p50 139 ms p95 812 ms',
      /refused 422 15 1.4%/,
      /https:\/\/crm\.example\.com answered with HTTP 503\. 56/,
      'other reasons 1',
      'under 1 min 1 10 min to 1 h 12 1 h to 6 h 1,204 6 h to 1 d at least 50,000',
      'held 3 times 18 min',
      'unavailable 14 times, the first',
      'https://crm.example.com/[secret]',
    ])
      expect(text).toMatch(
        typeof shown === 'string' ? new RegExp(shown.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')) : shown,
      );
  });

  test('of a held sink says before a probe that it sends one batch, and what its result changes', async () => {
    const text = await textOf('/sinks/warehouse/resume?from=page', { method: 'POST' });
    for (const said of [
      'leadsync sends the next probe, a single batch, immediately. All other leads wait for its result.',
      'If it is still unavailable, the sink stays held, and the failed probe uses up no attempt.',
      'Without this, leadsync sends the next probe at 21 Nov 2026, 14:32:30 UTC',
    ])
      expect(text).toContain(said);
    expect(pages.operations.actions).toEqual([]);
  });

  test('of a sink that was held when it was paused says that resuming it sends a probe', async () => {
    const { operations } = pages;
    await operations.pause('warehouse', 'the database is being moved');
    const text = await textOf('/sinks/warehouse/resume', { method: 'POST' });
    expect(text).toContain('Resume warehouse? It was held when it was paused, and still is.');
    expect(text).toContain('leadsync sends the next probe, a single batch, immediately.');
    expect(text).not.toContain('Without this');
  });

  test('of a held sink does not offer the probe as the main action, because leadsync sends one automatically', async () => {
    const buttons = (html: string) => html.match(/<button[^>]*>(?:Try now|Resume)…/g);
    const html = async () => (await ask('/sinks/warehouse')).text();
    expect(buttons(await html())).toEqual([expect.not.stringContaining('primary')]);
    await pages.operations.pause('warehouse', 'the database is being moved');
    expect(buttons(await html())).toEqual([expect.stringContaining('primary')]);
  });

  test.each([
    ['was held 38 min ago', 'warehouse', {}, '10 minutes'],
    ['was held 61 min ago', 'warehouse', { since: '2026-11-21T13:31:00.000Z' }, 'hour'],
    ['failed for the first time within the hour', 'crm', { series: [0, 0, 1] }, '10 minutes'],
    ['failed before, too', 'crm', { series: [1, 0, 1] }, 'hour'],
    ['does not fail', 'crm', { series: [0, 0, 0] }, 'hour'],
  ] as const)(
    'of a sink that %s begins with the period that shows this best',
    async (_, name, change, step) => {
      const { operations } = pages;
      const sink = operations.sink.bind(operations);
      operations.sink = async (...args) => {
        const detail = await sink(...args);
        const series = 'series' in change && change.series;
        const [part] = detail?.series ?? [];
        const parts = series && part && series.map((refused) => ({ ...part, refused, unavailable: 0 }));
        return detail && { ...detail, ...change, series: parts || detail.series };
      };
      expect(await textOf(`/sinks/${name}`)).toContain(`Attempts per ${step}`);
      expect(await textOf(`/sinks/${name}?period=24h`)).toContain('Attempts per hour');
    },
  );

  test('of a held sink has the next step and a link to the runbook', async () => {
    const html = await (await ask('/sinks/warehouse')).text();
    const said = html.slice(html.indexOf('Held since'), html.indexOf('Circuit breaker'));
    expect(said).toContain('See whether PostgreSQL runs at warehouse.internal:5432.');
    expect(said).toContain('href="/runbook/sink-held"');
    expect(await (await ask('/sinks/crm')).text()).not.toContain('href="/runbook/');
  });

  test('of a held sink says how it recovers and when it is probed', async () => {
    const text = await textOf('/sinks/warehouse?period=1h');
    expect(text).toContain('Held since');
    expect(text).toContain(
      '41 probes have failed since. After the first successful probe, it gets 2 batches at a time',
    );
    expect(text).toContain('Failure rate before the hold 19% of the last 100 batches');
    expect(text).toContain('Concurrent batches 1 now, grows to 10');
    expect(text).toMatch(/Next probe 21 Nov 2026, 14:32:30 UTC/);
    expect(text).toContain('Attempts per 10 minutes');
  });

  test('links to the deliveries of a reason, and offers to retry or discard all of them', async () => {
    const html = await (await ask('/sinks/crm')).text();
    const query =
      'sink=crm&amp;state=dead&amp;reason=https%3A%2F%2Fcrm.example.com+refused+the+lead+%28HTTP+422%29.';
    expect(html).toContain(`href="/deliveries?${query}"`);
    expect(html).toContain(`action="/deliveries/retry?${query}"`);
    expect(html).toContain(`action="/deliveries/discard?${query}"`);
    const asked = await post(`/deliveries/discard?${query.replaceAll('&amp;', '&')}`, { all: 'yes' });
    expect(await asked.text()).toContain('Discard');
  });

  test('shows ten failed attempts first, each with its answer, and all on request', async () => {
    const { operations } = pages;
    const sink = operations.sink.bind(operations);
    const attemptsIn = (html: string) =>
      [...html.matchAll(/<tr id="attempt-crm:main:(\d+)/g)].map(([, lead]) => Number(lead));
    let html = await (await ask('/sinks/crm')).text();
    expect(attemptsIn(html)).toEqual([48_204, 48_203, 48_145]);
    expect(html).toMatch(/>failed 3<.*>all 6<.*The last attempts that failed, at most 50\./s);
    expect(html).toContain('<option value="main:48145">');
    expect(html.indexOf('id="attempts"')).toBeGreaterThan(
      html.indexOf('>Dead and failed deliveries by reason<'),
    );
    expect(html.indexOf('id="attempts"')).toBeLessThan(html.indexOf('>Backlog by age<'));
    expect(html).toContain('action="/leads/main/48203/answers?delivery=crm%3Amain%3A48203%3A1%3A0a1b2c3d"');
    expect(attemptsIn(await (await ask('/sinks/crm?attempts=all')).text())).toHaveLength(6);
    operations.sink = async (name, period) => {
      const detail = await sink(name, period);
      const [, , refused] = detail?.recent ?? [];
      const recent_failed = Array.from({ length: 25 }, (_, at) => ({
        ...(refused as NonNullable<typeof refused>),
        delivery_id: `crm:main:${at}:1:0a1b2c3d`,
      }));
      return detail && { ...detail, recent_failed };
    };
    html = await (await ask('/sinks/crm')).text();
    expect(attemptsIn(html)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    const more = '/sinks/crm?period=24h&amp;attempts=failed&amp;rows=all#attempts';
    expect(html).toContain(`href="${more}">Show all 25 failed attempts<`);
    expect(attemptsIn(await (await ask(more.replaceAll('&amp;', '&'))).text())).toHaveLength(25);
  });

  test('orders attempts by the last one of those that share a row, and shows its time', async () => {
    const { operations } = pages;
    const sink = operations.sink.bind(operations);
    operations.sink = async (name, period) => {
      const detail = await sink(name, period);
      const [first] = detail?.recent ?? [];
      const failed = { ...(first as NonNullable<typeof first>), outcome: 'unavailable' };
      const recent_failed = [
        { ...failed, delivery_id: 'crm:main:2:1:a', started_at: '2026-11-21T14:30:20.000Z' },
        {
          ...failed,
          delivery_id: 'crm:main:1:1:a',
          started_at: '2026-11-21T14:29:54.000Z',
          last_started_at: '2026-11-21T14:31:17.000Z',
          times: 4,
        },
      ];
      return detail && { ...detail, recent_failed };
    };
    const html = await (await ask('/sinks/crm')).text();
    expect([...html.matchAll(/<tr id="attempt-crm:main:(\d+)/g)].map(([, lead]) => lead)).toEqual(['1', '2']);
    const [row] = /<tr id="attempt-crm:main:1:.*?<\/tr>/.exec(html) ?? [];
    expect(row).toMatch(/14:31:17.*4 times, the first.*14:29:54/);
  });

  test('shows all attempts if none has failed', async () => {
    const { operations } = pages;
    const sink = operations.sink.bind(operations);
    operations.sink = async (name, period) => {
      const detail = await sink(name, period);
      const recent = detail?.recent.filter(({ outcome }) => outcome === 'delivered');
      return detail && recent && { ...detail, recent, recent_failed: [] };
    };
    expect((await (await ask('/sinks/crm')).text()).match(/<tr id="attempt-/g)).toHaveLength(4);
    expect(await textOf('/sinks/crm?attempts=failed')).toContain(
      'No failed attempt of this sink is among the newest ones that were searched.',
    );
  });

  test('an action on it returns to it, and an action in the list returns to the list', async () => {
    expect(await textOf('/sinks/crm/pause?from=page', { method: 'POST' })).toContain('Pause crm?');
    const done = await post('/sinks/crm/pause?from=page', { sure: 'yes', reason: 'moving house' });
    expect(done.headers.get('location')).toBe('/sinks/crm');
    const listed = await post('/sinks/drop/pause', { sure: 'yes', reason: 'moving house' });
    expect(listed.headers.get('location')).toBe('/sinks');
  });

  test('shows a request and its answers only on request, which the audit log records', async () => {
    pages.operations.answers = [
      {
        delivery_id: 'crm:main:48205:1:0a1b2c3d',
        sink: 'crm',
        started_at: '2026-11-21T14:30:00.000Z',
        outcome: 'refused',
        http_status: 422,
        answer: 'no such Ada',
      },
      {
        delivery_id: 'drop:main:48205:1:0a1b2c3d',
        sink: 'drop',
        started_at: '2026-11-21T14:30:00.000Z',
        outcome: 'refused',
        http_status: null,
        answer: 'of another sink',
      },
    ];
    expect(await textOf('/sinks/crm')).not.toContain('Ada');
    expect(pages.operations.actions).toEqual([]);
    const [row] = pages.operations.leadRows;
    const text = await textOf('/sinks/crm/request', {
      method: 'POST',
      body: new URLSearchParams({ lead: `main:${row?.lead_id}` }),
    });
    expect(text).toContain('POST https://crm.example.com/[secret]');
    expect(text).toContain('no such Ada');
    expect(text).not.toContain('of another sink');
    expect(text).not.toContain('row of leads');
    expect(pages.operations.actions).toEqual([
      `previews main ${row?.lead_id}`,
      `reveal main ${row?.lead_id}`,
    ]);
  });

  test.each([
    ['delivered', 204, 'The ledger has no answer: the last attempt delivered the lead'],
    [
      'unavailable',
      null,
      'The ledger has no answer: the destination gave none to the last attempt, which failed.',
    ],
    ['refused', 422, 'The ledger has only the status of the answer to the last attempt, HTTP 422'],
    [undefined, null, 'The ledger has no answer to this lead.'],
  ])(
    'gives the reason why it has no answer after an attempt that was %s with status %s',
    async (outcome, status, why) => {
      const { operations } = pages;
      const sink = operations.sink.bind(operations);
      operations.sink = async (...args) => {
        const detail = await sink(...args);
        const recent = (detail?.recent ?? []).slice(0, 1).flatMap((attempt) => {
          return outcome === undefined ? [] : { ...attempt, outcome, http_status: status };
        });
        return detail && { ...detail, recent };
      };
      const body = new URLSearchParams({ lead: 'main:48205' });
      const text = await textOf('/sinks/crm/request', { method: 'POST', body });
      expect(text).toContain(why);
      expect(text).toContain('crm webhook has the lead It was delivered');
    },
  );

  test.each([
    ['/sinks/nobody', 404, 'has no sink “nobody”'],
    ['/sinks/crm?period=2h', 400, 'The period must be one of 1h, 24h, 7d.'],
  ])('%s gets %s with the reason', async (path, status, why) => {
    const answer = await ask(path);
    expect(answer.status).toBe(status);
    expect(await answer.text()).toContain(why);
  });

  test('the address of a former name redirects to the sink’s new name', async () => {
    pages.operations.sinkRows = pages.operations.sinkRows.map((sink) =>
      sink.sink === 'crm' ? { ...sink, formerly: 'hub' } : sink,
    );
    const answer = await ask('/sinks/hub');
    expect(answer.status).toBe(404);
    expect(await answer.text()).toContain('has no sink “hub”: it was renamed to crm.');
  });

  test.each([
    ['main:1', 404],
    ['main', 400],
    ['<b>:1', 400],
  ])('the request of the lead %j gets %s', async (lead, status) => {
    expect((await post('/sinks/crm/request', { lead })).status).toBe(status);
    expect(pages.operations.actions).toEqual([]);
  });
});

test('reasons show names between backticks as code, on every page with a reason', async () => {
  const { operations } = pages;
  const reason = 'The expression of `rooms` failed for this lead.';
  const sink = operations.sink.bind(operations);
  operations.sink = async (...args) => {
    const detail = await sink(...args);
    if (detail === undefined) return undefined;
    const [holds, reasons] = [detail.holds, detail.reasons].map((rows) =>
      rows.map((row) => ({ ...row, reason })),
    );
    const errors = detail.errors.map((row) => ({ ...row, reason }));
    const recent = detail.recent.map((row) => ({ ...row, error: reason }));
    return { ...detail, reason, holds, reasons, errors, recent } as typeof detail;
  };
  operations.deliveryRows = operations.deliveryRows.map((row) =>
    row.state === 'dead' ? { ...row, reason } : row,
  );
  const [dead] = operations.deliveryRows.filter(({ state }) => state === 'dead');
  for (const path of ['/deliveries?state=dead', `/leads/main/${dead?.lead_id}`, '/sinks/warehouse']) {
    const html = (await (await ask(path)).text()).replace(/ (?:value|href|action|hx-post)="[^"]*"/g, '');
    expect(html).toContain('The expression of <code>rooms</code> failed');
    expect([path, html.includes('`')]).toEqual([path, false]);
  }
});

test('answers are offered only to operators, and only by a button', async () => {
  for (const role of ['viewer', 'operator'] as const) {
    const opened = await openPages({ role });
    onTestFinished(() => opened.close());
    const [dead] = opened.operations.deliveryRows.filter(({ state }) => state === 'dead');
    for (const path of ['/deliveries?state=dead', `/leads/main/${dead?.lead_id}`, '/sinks/crm']) {
      const html = await (await fetch(`${opened.url}${path}`)).text();
      expect([path, html.includes('>Answer…</button>')]).toEqual([path, role === 'operator']);
    }
    expect(opened.operations.actions).toEqual([]);
  }
});

test('the page says if the answers of a delivery are no longer stored, or if the lead does not exist', async () => {
  const gone = await (await post('/leads/main/48196/answers?delivery=crm:main:48196:1:0a1b2c3d')).text();
  expect(gone).toContain('The ledger no longer has the answer');
  expect((await post('/leads/main/999/answers?delivery=x')).status).toBe(404);
});

test('a lead is replayed once, even if the confirmation is sent repeatedly', async () => {
  const address = '/leads/main/48196/replay?sink=crm';
  const [, once = ''] = /name="once" value="([^"]+)"/.exec(await (await post(address)).text()) ?? [];
  for (let n = 0; n < 2; n += 1) expect((await post(address, { once, sure: 'yes' })).status).toBe(303);
  expect(pages.operations.actions).toEqual(['replay crm main 48196']);
});

describe('a replay of many leads', () => {
  test('is counted and described first, and then affects the counted leads', async () => {
    const { operations } = pages;
    const fields = { sink: 'crm', since: '2026-11-20', state: 'delivered', ids: '48196\n48205, 48205' };
    const asked = await post('/replay', fields);
    const html = await asked.text();
    expect(asked.status).toBe(200);
    expect(html).toContain(`Send ${operations.leadRows.length} leads to crm again?`);
    expect(html).toContain('href="/leads/main/48211"');
    expect(html).toContain(' and 120 more');
    expect(operations.actions).toEqual([]);
    const hidden = [...html.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)"/g)];
    const kept = Object.fromEntries(hidden.map(([, name = '', value = '']) => [name, value]));
    expect(kept).toEqual({
      sink: 'crm',
      since: '2026-11-20T00:00:00.000Z',
      state: 'delivered',
      ids: '48196 48205',
      once: expect.stringMatching(/^[\da-f-]{36}$/),
    });
    expect(html).toContain('href="/replay?sink=crm" data-close');
    const done = await post('/replay', { ...kept, sure: 'yes' });
    expect([done.status, done.headers.get('location')]).toEqual([303, '/sinks/crm']);
    expect(operations.actions).toEqual([
      'replay all crm {"state":"delivered","since":"2026-11-20T00:00:00.000Z","ids":["48196","48205"]}',
    ]);
    // A double click without scripts, and a reload during a slow answer.
    const again = await Promise.all([1, 2].map(() => post('/replay', { ...kept, sure: 'yes' })));
    expect(again.map(({ status }) => status)).toEqual([303, 303]);
    expect(operations.actions).toHaveLength(1);
  });

  test('can be limited to leads that were left out, or whose delivery had a reason at a time, which it states', async () => {
    const { operations } = pages;
    const form = await (
      await ask('/replay?sink=crm&which=left_out&delivered_since=2026-11-20&reason=422')
    ).text();
    expect(form).toContain('<option value="left_out" selected>');
    expect(form).toMatch(/<input[^>]* name="delivered_since"[^>]* value="2026-11-20"/);
    expect(form).toMatch(/<input[^>]* name="reason"[^>]* value="422"/);
    const fields = {
      sink: 'crm',
      delivered_since: '2026-11-20',
      delivered_until: '2026-11-21',
      reason: '422',
    };
    const asked = await (await post('/replay', { ...fields, which: 'left_out' })).text();
    expect(asked).toContain(
      'crm gets the current content of each, which it has not had so far, as a new delivery',
    );
    expect(await (await post('/replay', fields)).text()).toContain('of each, whether it has it or not, as');
    await post('/replay', { ...fields, which: 'left_out', sure: 'yes' });
    const [from, to] = ['2026-11-20', '2026-11-21'].map((day) => `${day}T00:00:00.000Z`);
    expect(operations.actions).toEqual([
      `replay all crm {"reason":"422","delivered_since":"${from}","delivered_until":"${to}","left_out":true}`,
    ]);
  });

  test.each([
    [{}, 'See the marked fields.'],
    [{ sink: 'crm' }, 'Choose leads by a field, or every lead in the ledger.'],
    [
      { sink: 'crm', which: 'all', lead: '48196' },
      'Choose either every lead in the ledger or those that match, not both.',
    ],
    [{ sink: 'crm', ids: '48196 <b>Ada</b>' }, 'Id 2 of the list is neither a lead id'],
    [{ sink: 'crm', ids: Array.from({ length: 3_001 }, (_, at) => at).join(' ') }, 'The list has 3,001 ids'],
    [{ sink: 'crm', since: '1d', until: '2d' }, 'The end of a period must be after its beginning.'],
    [
      { sink: 'crm', delivered_since: '1d', delivered_until: '2d' },
      'The end of a period must be after its beginning.',
    ],
    [{ sink: 'crm', delivered_since: 'then' }, 'Delivered to the sink since must be an age'],
    [{ sink: 'crm', since: 'then' }, 'First seen or changed since must be an age'],
  ])('by %j gets 400 with the reason, and nothing is sent', async (fields, why) => {
    const answer = await post('/replay', { ...fields, sure: 'yes' });
    expect(answer.status).toBe(400);
    expect(await answer.text()).toContain(why);
    expect(pages.operations.actions).toEqual([]);
  });

  test('begins on the page of a sink, or with the filter of the leads if the form can have the same', async () => {
    expect(await (await ask('/sinks/crm')).text()).toContain('href="/replay?sink=crm"');
    expect(await (await ask('/leads?source=main&until=2026-11-20')).text()).toContain(
      'href="/replay?source=main&amp;until=2026-11-20"',
    );
    // The list has leads that were first seen since then; a replay would also send those that have changed.
    expect(await (await ask('/leads?source=main&since=2026-11-20')).text()).not.toContain('href="/replay');
    expect(await (await ask('/leads')).text()).toContain('href="/replay?which=all"');
    expect(await (await ask('/leads?service=painting')).text()).not.toContain('href="/replay');
    const form = await (await ask('/replay?source=main&since=2026-11-20')).text();
    expect(form).toContain('<option value="main" selected>');
    expect(form).not.toContain('class="fault"');
    pages.operations.sinkRows = pages.operations.sinkRows.map((sink) => ({ ...sink, replays_pending: 7 }));
    const sink = await (await ask('/sinks/crm')).text();
    expect(sink).toContain('7 replay deliveries are left.');
    expect(sink).toContain('Cancel replay…');
  });
});

describe('bad input', () => {
  test.each([
    ['/leads?lead=9999999999999999999999', 'Id must be a number of at most 19 digits.'],
    ['/leads?since=2026-13-45', 'First seen or gone since must be an age'],
    ['/leads?since=999999w', 'First seen or gone since must be an age'],
    [
      '/deliveries?state=lost',
      'State must be one of undelivered, pending, delivered, dead, skipped, discarded.',
    ],
    ['/polls?status=great', 'Status without the listing must be one of running'],
    ['/leads?since=2026-02-30', 'First seen or gone since must be an age'],
    ['/deliveries?state=dead&state=pending', 'State appears more than once.'],
    [
      '/deliveries?stat=dead',
      'Unknown filter: <bdi>stat</bdi>. This page has: sink, state, lead, source, webhook_id, reason, since, until, delivered_since, delivered_until, order.',
    ],
    ['/deliveries?stat=', 'Unknown filter: <bdi>stat</bdi>.'],
    ['/leads?lead=48196&limit=5&Source=main', 'Unknown filters: <bdi>limit, Source</bdi>.'],
    ['/polls?%3Cb%3E=1', 'Unknown filter: <bdi>&lt;b></bdi>. This page has: source, result, status, order.'],
    ['/leads?order=best', 'Order must be one of newest, oldest.'],
  ])('%s gets 400 with the reason, and no row', async (path, why) => {
    const answer = await ask(path);
    const html = await answer.text();
    expect(answer.status).toBe(400);
    expect(html).toContain(why);
    expect(html).not.toContain('<td');
  });

  test.each(['stat=dead', 'state=dead&state=dead', 'state=lost'])(
    'a retry of all by the filter %s does nothing',
    async (query) => {
      const answer = await post(`/deliveries/retry?${query}`, { all: 'yes', sure: 'yes' });
      expect(answer.status).toBe(303);
      expect(pages.operations.actions).toEqual([]);
    },
  );

  test('an invalid filter is shown again with the reason and the text that was entered', async () => {
    pages.operations.failure = new RequestError(
      404,
      'x',
      'There is no source "nowhere".',
      'The sources are: main.',
    );
    const answer = await ask('/leads?source=nowhere');
    const html = await answer.text();
    expect(answer.status).toBe(404);
    expect(html).toContain('There is no source &quot;nowhere&quot;. The sources are: main.');
    expect(html).toContain('value="nowhere"');
  });

  test.each(['/leads/main/999', '/leads/nowhere/48196', '/leads/main/abc', '/leads/%22%3E/1'])(
    '%s gets 404 with the next step',
    async (path) => {
      const answer = await ask(path);
      expect(answer.status).toBe(404);
      expect(await answer.text()).toContain('Search for the id under Leads');
    },
  );

  test.each(['pause', 'resume', 'test', 'retry', 'cancel-replay'])(
    '%s of an unknown sink gets 404',
    async (action) => {
      const asked = await post(`/sinks/nobody/${action}`);
      expect(asked.status).toBe(404);
      expect(await asked.text()).toContain('has no sink “nobody”');
      expect(pages.operations.actions).toEqual([]);
    },
  );

  test.each([
    [{ expression: ' ' }, 'There is no expression.'],
    [{ expression: '1', other: '42' }, 'There are several sources: this id alone does not identify a lead.'],
    [{ expression: '1', other: '42' }, 'Enter the source and the id, such as <code>main:42</code>.'],
    [{ expression: '1', other: 'main:x' }, 'This is not a lead id.'],
    [{ expression: '1', lead: '"><b>:1:2' }, 'This is not a lead id.'],
  ])('an expression with %j is not evaluated, and the page gives the reason', async (fields, why) => {
    const answer = await post('/playground', fields);
    expect(answer.status).toBe(400);
    expect(await answer.text()).toContain(why);
    expect(pages.operations.actions).toEqual([]);
  });

  test('an expression that cannot be evaluated is shown again with the reason', async () => {
    pages.operations.tried = new RequestError(404, 'unknown-lead', 'There is no lead 9.', 'Choose another.');
    const answer = await post('/playground', { expression: '"</textarea><b>"', other: 'main:9' });
    const html = await answer.text();
    expect(answer.status).toBe(404);
    expect(html).toContain('There is no lead 9. Choose another.');
    expect(html).toContain('&quot;&lt;/textarea>&lt;b>&quot;</textarea>');
    expect(html).toContain('value="main:9"');
  });

  test('previews of an unknown lead get 404', async () => {
    for (const path of ['/leads/main/999/previews', '/leads/main/abc/previews'])
      expect((await post(path)).status).toBe(404);
  });

  test('a pause without a reason, or with one that is too long, is rejected', async () => {
    for (const reason of ['', '  ', 'x'.repeat(201)]) await post('/sinks/crm/pause', { sure: 'yes', reason });
    expect(pages.operations.actions).toEqual([]);
  });

  test.each<[string, RequestInit, string[]]>([
    ['/leads/main/999', {}, ['/leads?lead=999 To Leads', '/ To the overview']],
    ['/sinks/nobody', {}, ['/sinks To Sinks', '/ To the overview']],
    [
      '/sinks/nobody/pause',
      { method: 'POST', body: new URLSearchParams() },
      ['/sinks To Sinks', '/ To the overview'],
    ],
    [
      '/sinks/crm?period=2h',
      {},
      ['/sinks/crm Without the parameters', '/sinks To Sinks', '/ To the overview'],
    ],
  ])('the error page of %s links to other pages', async (path, more, links) => {
    expect(await waysOn(await ask(path, more))).toEqual(links);
  });

  test('the error page of a failure links to the same address, which may work by then', async () => {
    pages.operations.failure = new RequestError(503, 'too-slow', 'The ledger is busy.', 'Try again.');
    expect(await waysOn(await ask('/leads?lead=1'))).toEqual([
      '/leads?lead=1 Try again',
      '/leads To Leads',
      '/ To the overview',
    ]);
  });

  test('an unknown cookie is not shown', async () => {
    const answer = await ask('/sinks', { headers: { cookie: 'leadsync_notice=%7Bowned' } });
    expect(answer.status).toBe(200);
    expect(await answer.text()).not.toContain('owned');
  });

  test('an internal failure does not show its cause', async () => {
    pages.operations.failure = new Error('ada@example.com');
    const answer = await ask('/sinks');
    const html = await answer.text();
    expect(answer.status).toBe(500);
    expect(html).toContain('leadsync failed with an internal error.');
    expect(html).toContain('<title>1 problem · Request failed · leadsync</title>');
    expect(html).not.toContain('ada@example.com');
  });
});

describe('actions', () => {
  test.each([
    ['/sinks/crm/pause', 'Pause crm?'],
    ['/sinks/crm/resume', 'Resume crm?'],
    ['/sinks/crm/test', 'Send crm a test event?'],
    ['/sinks/crm/retry', 'Retry 3 dead deliveries of crm?'],
    ['/sinks/crm/cancel-replay', 'There is nothing to cancel'],
    ['/configuration/reload', 'Reload the configuration file?'],
    ['/leads/main/48196/replay?sink=crm', 'Send lead 48196 to crm again?'],
    ['/leads/main/48196/retry?delivery=x', 'Retry this delivery of lead 48196 now?'],
  ])('%s asks first, and does nothing until it is confirmed', async (path, question) => {
    const answer = await post(path);
    expect(answer.status).toBe(200);
    expect(await answer.text()).toContain(question);
    expect(pages.operations.actions).toEqual([]);
  });

  test('the question before a retry names the sink, and the effect of its state', async () => {
    const { operations } = pages;
    const row = operations.deliveryRows.find(
      ({ sink, state }) => sink === 'warehouse' && state === 'pending',
    );
    const { delivery_id = '', source = '', lead_id = '' } = row ?? {};
    const path = `/leads/${source}/${lead_id}/retry?delivery=${encodeURIComponent(delivery_id)}`;
    const asked = async () => (await (await post(path)).text()).replace(/<[^>]+>/g, '').replace(/\s+/g, ' ');
    const held = await asked();
    expect(held).toContain(`Retry the delivery of lead ${lead_id} to warehouse now?`);
    expect(held).toContain(
      'warehouse is held, so the delivery waits until a probe succeeds. The next probe is at 21 Nov 2026, 14:32:30 UTC.',
    );
    await operations.pause('warehouse', 'moving house');
    expect(await asked()).toContain('warehouse is paused, so the delivery waits until you resume the sink.');
    operations.sinkRows = operations.sinkRows.map((sink) => ({ ...sink, state: 'healthy' as const }));
    expect(await asked()).not.toContain('waits');
  });

  test('the question before a discard has the number of dead deliveries of each sink, and their reasons', async () => {
    const asked = async (query: string, fields: Record<string, string> = { all: 'yes' }) =>
      (await (await post(`/deliveries/discard${query}`, fields)).text())
        .replace(/<[^>]+>/g, ' ')
        .replace(/\s+/g, ' ');
    const all = await asked('');
    expect(all).toContain('crm: 3');
    expect(all).toContain('A retry can bring them back, until retention removes their content.');
    expect(all).toContain('Note (required;');
    expect(await asked('?sink=crm&state=dead')).toContain(
      '233: https://crm.example.com refused the lead (HTTP 422).',
    );
    expect(await asked('?sink=crm&reason=422')).not.toContain('233');
    const [dead] = pages.operations.deliveryRows.filter(({ state }) => state === 'dead');
    const delivery = dead?.delivery_id ?? '';
    expect(await asked('', { delivery })).toContain('Sink: crm.');
    pages.operations.sinkRows = pages.operations.sinkRows.filter(({ sink }) => sink !== 'crm');
    expect(await asked('', { delivery })).not.toContain('Sink: crm.');
  });

  test('on all dead deliveries are offered only if one is dead', async () => {
    const { operations } = pages;
    const offered = async (query: string) =>
      [...(await (await ask(`/deliveries${query}`)).text()).matchAll(/>((?:Retry|Discard) all \w+…)</g)].map(
        ([, label]) => label,
      );
    const both = ['Retry all dead…', 'Discard all dead…'];
    expect(await offered('')).toEqual(both);
    expect(await offered('?sink=crm')).toEqual(both);
    expect(await offered('?sink=warehouse')).toEqual([]);
    expect(await offered('?state=pending')).toEqual(['Retry all pending…']);
    operations.sinkRows = operations.sinkRows.map((sink) => ({ ...sink, dead: 0 }));
    operations.deliveryRows = operations.deliveryRows.filter(({ state }) => state !== 'dead');
    expect(await offered('')).toEqual([]);
  });

  test('redirect to a page, so that a reload repeats none', async () => {
    const answer = await post('/sinks/crm/resume', { sure: 'yes' });
    expect(answer.status).toBe(303);
    expect(answer.headers.get('location')).toBe('/sinks');
    expect(answer.headers.get('set-cookie')).toMatch(/; HttpOnly; SameSite=Strict; Max-Age=30$/);
  });

  test('a running replay is shown with its remaining leads, and is cancelled after a question with their number', async () => {
    const { operations } = pages;
    operations.sinkRows = operations.sinkRows.map((row) =>
      row.sink === 'crm' ? { ...row, replays_pending: 1_234 } : row,
    );
    const sinks = await (await ask('/sinks')).text();
    expect(sinks).toContain('<dt>Replays left</dt><dd>1,234</dd>');
    const question = await (await post('/sinks/crm/cancel-replay')).text();
    expect(question).toContain('Cancel the rest of the replays to crm: 1,234 deliveries?');
    expect(question, 'a link that no reader takes for the action').toContain('>Keep them</a>');
    expect(operations.actions).toEqual([]);
    await post('/sinks/crm/cancel-replay', { sure: 'yes' });
    expect(operations.actions).toEqual(['cancel replays crm']);
    expect(await (await ask('/sinks')).text()).not.toContain('Cancel replay…');
  });

  test('dead deliveries are discarded with a note, whose markup is shown as text', async () => {
    const { operations } = pages;
    const question = await (await post('/deliveries/discard?sink=crm', { all: 'yes' })).text();
    expect(question).toContain('Discard 3 dead deliveries?');
    expect(question).toContain('name="note" required');
    const note = '<b>rung</b> by hand';
    const done = await post('/deliveries/discard?sink=crm', { all: 'yes', sure: 'yes', note });
    expect(done.status).toBe(303);
    expect(operations.actions).toEqual([`discard {"sink":"crm","state":"dead"} ${note}: 3`]);
    const shown = await (await ask('/deliveries?sink=crm')).text();
    expect(shown).toContain('discarded by anna: &lt;b>rung&lt;/b> by hand.');
    const nothing = await (await post('/deliveries/discard?sink=crm', { all: 'yes' })).text();
    expect(nothing).toContain('There is nothing to discard');
  });

  test('actions that give up deliveries have a style of their own on every page, before and in the question', async () => {
    pages.operations.sinkRows = pages.operations.sinkRows.map((sink) => ({ ...sink, replays_pending: 7 }));
    const buttons = async (path: string, more?: RequestInit) =>
      [...(await (await ask(path, more)).text()).matchAll(/<button([^>]*)>([^<]*)/g)].map(
        ([, attributes = '', label = '']) => ({ label, danger: /class="[^"]*danger"/.test(attributes) }),
      );
    for (const path of ['/', '/deliveries?state=dead', '/sinks', '/sinks/crm', '/leads/main/48196']) {
      const all = await buttons(path);
      const gives = ({ label }: { label: string }) => /^(?:Discard|Cancel)/.test(label);
      expect(
        all.filter(({ danger }) => danger).map(({ label }) => label),
        path,
      ).toEqual(all.filter(gives).map(({ label }) => label));
      expect(all.some(gives), path).toBe(path !== '/leads/main/48196');
    }
    const form = { method: 'POST', body: new URLSearchParams({ all: 'yes' }) };
    const inQuestion = async (path: string) => (await buttons(path, form)).filter(({ danger }) => danger);
    expect(await inQuestion('/deliveries/discard?sink=crm')).toMatchObject([
      { label: 'Discard 3 dead deliveries' },
    ]);
    expect(await inQuestion('/sinks/crm/cancel-replay')).toHaveLength(1);
    expect(await inQuestion('/deliveries/retry?sink=crm')).toEqual([]);
  });

  test('one selected delivery is discarded, and no other', async () => {
    const { operations } = pages;
    const dead = operations.deliveryRows.filter(({ state }) => state === 'dead');
    const delivery = dead[0]?.delivery_id ?? '';
    expect(await (await post('/deliveries/discard', { delivery })).text()).toContain(
      'Discard 1 selected delivery?',
    );
    await post('/deliveries/discard', { delivery, sure: 'yes', note: 'rung' });
    expect(operations.deliveryRows.filter(({ state }) => state === 'dead')).toHaveLength(dead.length - 1);
  });

  test.each([
    ['', {}],
    ['', { all: 'yes', sure: 'yes' }],
    ['', { all: 'yes', sure: 'yes', note: ' ' }],
    ['', { all: 'yes', sure: 'yes', note: 'x'.repeat(201) }],
    ['stat=dead', { all: 'yes', sure: 'yes', note: 'n' }],
    ['state=lost', { all: 'yes', sure: 'yes', note: 'n' }],
  ])('the filter "%s" and the form %j discard nothing', async (query, form) => {
    const answer = await post(`/deliveries/discard?${query}`, form as Record<string, string>);
    expect(answer.status).toBe(303);
    expect(answer.headers.get('set-cookie')).toContain('Nothing%20was%20discarded');
    expect(pages.operations.actions).toEqual([]);
  });

  test('a poll is requested, and its page says whether one has started', async () => {
    expect(await (await ask('/')).text()).toContain('action="/sources/main/poll"');
    const started = await post('/sources/main/poll', {});
    expect([started.status, started.headers.get('location')]).toEqual([303, '/polls?source=main']);
    expect(started.headers.get('set-cookie')).toContain('has%20started');
    pages.operations.sources = pages.operations.sources.map((one) => ({
      ...one,
      last_poll_status: 'running',
    }));
    expect((await post('/sources/main/poll', {})).headers.get('set-cookie')).toContain('is%20in%20progress');
    expect((await post('/sources/none/poll', {})).status).toBe(404);
    expect(pages.operations.actions).toEqual(['poll main', 'poll main', 'poll none']);
  });

  test('rejected leads are listed with their faults, and their text is shown only on request', async () => {
    const at = '2026-11-20T10:00:00.000Z';
    const row = { rejected_id: 7, source: 'main', lead_id: null, path: 'id', reason: 'must be a <number>' };
    const polls = { poll_id: 3, rejected_at: at, last_poll_id: 4, last_rejected_at: at, resolved_at: null };
    pages.operations.rejectedRows = [{ ...row, ...polls, state: 'open' }];
    const list = await (await ask('/rejected?source=main&state=open')).text();
    expect(list).toContain('must be a &lt;number');
    expect(list).toContain('action="/rejected/7/data"');
    expect(list).not.toContain('canary');
    expect(pages.operations.actions).toEqual([]);
    const text = await (await post('/rejected/7/data')).text();
    expect(text).toContain('&lt;canary');
    expect(text).toContain('Rejected lead without an id of main');
    expect(text).toContain('<code>id</code>: must be a &lt;number');
    expect((await post('/rejected/8/data')).status).toBe(404);
    expect(pages.operations.actions).toEqual(['reveal rejected 7', 'reveal rejected 8']);
  });

  test('the page of rejected leads lists as many as the overview counts, and the others by their state', async () => {
    const at = '2026-11-20T10:00:00.000Z';
    const row = {
      source: 'main',
      lead_id: null,
      path: 'id',
      reason: 'is no number',
      poll_id: 3,
      rejected_at: at,
    };
    const last = { last_poll_id: 4, last_rejected_at: '2026-11-21T11:00:00.000Z' };
    pages.operations.rejectedRows = [
      { ...row, ...last, rejected_id: 3, resolved_at: null, state: 'open' },
      { ...row, ...last, rejected_id: 2, resolved_at: null, state: 'gone' },
      { ...row, ...last, rejected_id: 1, resolved_at: at, state: 'resolved' },
    ];
    const listed = async (query: string) => {
      const html = await (await ask(`/rejected${query}`)).text();
      return [...html.matchAll(/<tr id="rejected-(\d)"/g)].map(([, id]) => id).join();
    };
    const tile = /href="(\/rejected[^"]+)"/.exec(await (await ask('/')).text())?.[1] ?? '';
    expect(tile).toBe('/rejected?source=brisbane&amp;state=open');
    for (const [query, ids] of [
      ['', '3'],
      [tile.replace('/rejected', '').replace('brisbane', 'main').replaceAll('&amp;', '&'), '3'],
      ['?state=gone', '2'],
      ['?state=resolved', '1'],
      ['?state=any', '3,2,1'],
    ] as const)
      expect(await listed(query), query).toBe(ids);
    const open = await (await ask('/rejected?state=open')).text();
    expect(open).toContain('<span>1 rejected lead</span>');
    expect(open.match(/<option[^>]*>[^<]*/g)?.slice(3, 7)).toEqual([
      '<option value selected>open',
      '<option value="gone">no longer listed',
      '<option value="resolved">resolved',
      '<option value="any">any',
    ]);
    expect(open).toMatch(
      /data-label="Last rejected"><div><a href="[^"]*"><time datetime="2026-11-21T11:00:00.000Z"/,
    );
    const csv = await (await ask('/rejected.csv?state=gone')).text();
    expect(csv.split('\r\n')[1]).toMatch(/^2,main,.*,gone$/);
    expect((await ask('/rejected?state=lost')).status).toBe(400);
  });

  test('the overview and the page of sinks begin with the sinks that have a problem, the most severe first', async () => {
    const namesOn = async (path: string, pattern: RegExp) =>
      [...(await (await ask(path)).text()).matchAll(pattern)].map(([, name]) => name);
    const ids = /id="sink-([^"]+)"/g;
    const { operations } = pages;
    operations.sinkRows = operations.sinkRows.toReversed();
    const order = ['warehouse', 'crm', 'old-crm', 'drop'];
    expect(await namesOn('/', ids)).toEqual(order);
    expect(await namesOn('/sinks', ids)).toEqual(order);
    const choices = /<option value="([^"]+)">\1</g;
    const configured = operations.sinkRows.map(({ sink }) => sink);
    expect((await namesOn('/deliveries', choices)).filter((name) => configured.includes(name ?? ''))).toEqual(
      configured,
    );
  });

  test.each([
    ['was never tried', { delivered: 0, breaker: { recent_attempts: 0, failure_rate: null } }, 'untried'],
    ['fails often', { breaker: { failure_rate: 0.19 } }, 'healthy, 19% of the last 100 batches failed'],
    ['fails seldom', { breaker: { failure_rate: 0.09 } }, 'healthy'],
    ['was resumed', { breaker: { recent_attempts: 0, failure_rate: null } }, 'healthy'],
    ['fails often and is held', { state: 'held', breaker: { failure_rate: 0.19 } }, 'held'],
  ] as const)('a sink that %s is labelled so', async (_, { breaker, ...more }, label) => {
    const { operations } = pages;
    const known = operations.sinkRows.find(({ sink }) => sink === 'crm')?.breaker;
    if (!known) throw new Error('the breaker of crm is not known');
    operations.sinkRows = operations.sinkRows
      .filter(({ sink }) => sink === 'drop')
      .map((row) => ({ ...row, ...more, breaker: { ...known, ...breaker } }));
    for (const path of ['/', '/sinks', '/sinks/drop']) {
      const [, main = ''] = (await (await ask(path)).text()).split('<main');
      expect(/class="badge [a-z]+">([^<]+)</.exec(main)?.[1], path).toBe(label);
    }
  });

  test('a viewer sees no column of actions that are not theirs', async () => {
    const at = '2026-11-20T10:00:00.000Z';
    const row = { rejected_id: 7, source: 'main', lead_id: null, path: 'id', reason: 'is no number' };
    const polls = { poll_id: 3, rejected_at: at, last_poll_id: 4, last_rejected_at: at, resolved_at: null };
    for (const role of ['operator', 'viewer'] as const) {
      const read = await openPages({ role });
      onTestFinished(() => read.close());
      read.operations.rejectedRows = [{ ...row, ...polls, state: 'open' }];
      for (const path of ['/', '/polls', '/rejected', '/sinks/crm', '/leads/main/48196']) {
        const html = await (await fetch(`${read.url}${path}`)).text();
        expect(html.includes('>Actions</th>'), `${role} ${path}`).toBe(role === 'operator');
        expect(html.includes('data-label="Actions"'), `${role} ${path}`).toBe(role === 'operator');
      }
    }
  });

  test('a viewer sees which actions need an operator, and no commands for them', async () => {
    const problemsOf = async (role: Role) => {
      const read = await openPages({ role });
      onTestFinished(() => read.close());
      const html = await (await fetch(read.url)).text();
      return [...html.matchAll(/<li id="[^"]+" class="(?:critical|warning)">(.*?)<\/li>/gs)].map(
        ([, one = '']) => one,
      );
    };
    const [heldOfOperator = '', ofOperator = ''] = await problemsOf('operator');
    expect(heldOfOperator).toContain('See whether PostgreSQL runs');
    expect(heldOfOperator).toContain('Try now…');
    expect(heldOfOperator).not.toContain('leadsync resume');
    expect(ofOperator).toContain('See why, and fix the cause before you retry.');
    expect(ofOperator).toContain('Discard…');
    expect(heldOfOperator + ofOperator).not.toContain('An operator');
    const [held = '', ofViewer = '', ofExport = ''] = await problemsOf('viewer');
    expect(ofViewer).toContain('Once the cause is fixed, an operator can retry or discard them.');
    expect(ofViewer).toContain('See 3 dead');
    expect(held).toContain('See whether PostgreSQL runs');
    expect(held).toContain('An operator can send the next probe now.');
    expect(held + ofViewer).not.toContain('leadsync');
    expect(ofExport).toContain('<code>leadsync export <span class="whole-word">--name</span> lake</code>');
    expect(ofExport).toContain('An operator can run the command.');
    expect(held + ofViewer).not.toContain('<button');
  });

  test('the page of reasons names each reason once, with links to its deliveries and those of each sink', async () => {
    const html = await (await ask('/deliveries/reasons')).text();
    const { rows } = await pages.operations.failureReasons();
    const [row] = rows;
    const reason = String(new URLSearchParams({ reason: row?.reason ?? '' }));
    expect(html).toContain(`href="/deliveries?state=${row?.state}&amp;${reason}"`);
    expect(html).toContain(
      `href="/deliveries?sink=${row?.sinks[0]?.sink}&amp;state=${row?.state}&amp;${reason}"`,
    );
    expect(await (await ask('/deliveries?state=undelivered')).text()).toMatch(
      /href="\/deliveries\?state=undelivered" aria-current="true">Undelivered \d+</,
    );
    expect(await (await ask('/deliveries')).text()).toContain('<a href="/deliveries/reasons">');
  });

  test('the page of polls begins with the sources, each with its next poll and a button to poll now', async () => {
    const html = await (await ask('/polls')).text();
    const shown = pages.operations.pollRows.filter(({ status }) => status !== 'unchanged');
    expect(html).toContain(`<span>${shown.length} polls</span>`);
    expect(html.indexOf('action="/sources/main/poll"')).toBeGreaterThan(0);
    expect(html.indexOf('action="/sources/brisbane/poll"')).toBeLessThan(html.indexOf('aria-label="Polls"'));
    expect(html).toMatch(/data-label="Next poll"><div><time datetime="2026-11-21T14:32:25.412Z"/);
    const one = await (await ask('/polls?source=brisbane')).text();
    expect(one).not.toContain('action="/sources/main/poll"');
    expect(one.match(/<option[^>]*>(?:any|main|brisbane)/g)?.slice(0, 3)).toEqual([
      '<option value>any',
      '<option value="main">main',
      '<option value="brisbane" selected>brisbane',
    ]);
  });

  test('many dead deliveries are counted up to the limit', async () => {
    const [one] = pages.operations.deliveryRows.filter(({ state }) => state === 'dead');
    pages.operations.deliveryRows = Array.from({ length: 10_001 }, () => one as NonNullable<typeof one>);
    const answer = await post('/deliveries/retry?sink=crm', { all: 'yes' });
    expect(await answer.text()).toContain('Retry at least 10,000 dead deliveries?');
  });

  test('a long notice fits a cookie', async () => {
    const faults = Array.from({ length: 300 }, (_, at) => `leadsync.yaml:${at}:1: “ünknown” is no option.`);
    pages.operations.reloadResult = { applied: false, generation: 7, faults };
    const answer = await post('/configuration/reload', { sure: 'yes' });
    const cookie = answer.headers.get('set-cookie') ?? '';
    expect(cookie.length).toBeLessThan(4_096);
    const [pair = ''] = cookie.split(';');
    const shown = await (await ask('/configuration', { headers: { cookie: pair } })).text();
    expect(shown).toContain('generation 7 stays in force');
    expect(shown).toContain('leadsync.yaml:0:1: “ünknown” is no option.');
  });
});

describe('a command in a text of a page', () => {
  test.each([
    ['the sinks', (at: string) => fetch(`${at}/sinks`), 'docker compose exec leadsync leadsync forget'],
    [
      'the question before a reload',
      (at: string) => fetch(`${at}/configuration/reload`, { method: 'POST', body: new URLSearchParams() }),
      'docker compose exec leadsync leadsync plan',
    ],
    [
      'a refusal',
      (at: string) => fetch(`${at}/leads/main/48196`),
      'docker compose exec leadsync leadsync reconcile',
    ],
  ])('is in the form for the readers of %s', async (name, askFor, command) => {
    const typed = await openPages({
      rewriteCommands: (text) =>
        rewriteCommands(text, { LEADSYNC_COMMAND: 'docker compose exec leadsync leadsync' }),
    });
    onTestFinished(() => typed.close());
    const refusal = new RequestError(503, 'ledger', 'It is damaged.', '`leadsync reconcile` may help.');
    if (name === 'a refusal') typed.operations.failure = refusal;
    const html = await (await askFor(typed.url)).text();
    expect(html).toContain(`<code>${command}`);
    expect(html).not.toMatch(/<code>leadsync [a-z]/);
  });
});

test('the audit page shows who did what, newest first, escaped, and filters by person and action', async () => {
  const shown = async (query = '') => (await ask(`/audit${query}`)).text();
  const all = await shown();
  expect(all).toContain('<span>2 lines</span>');
  expect(all.indexOf('anna')).toBeLessThan(all.indexOf('<bdi>token refused'));
  expect(all).toContain('<bdi>sink crm</bdi>, <bdi>reason: &lt;b>moving&lt;/b></bdi>');
  expect(all).toContain('<label for="filter-until">Until</label>');
  expect(all).toContain('10.0.0.9');
  expect(await shown('?who=anna&what=pause')).not.toContain('<bdi>token refused');
  expect(await shown('?who=bob')).toContain('No line matches.');
  expect((await ask('/audit?since=never')).status).toBe(400);
});

/** Returns the links with which an error page leads on: their addresses and their texts. */
async function waysOn(answer: Response): Promise<string[]> {
  expect(answer.status).toBeGreaterThanOrEqual(400);
  const [nav = ''] = /<nav[^>]*aria-label="Where to go next">.*?<\/nav>/s.exec(await answer.text()) ?? [];
  return [...nav.matchAll(/href="([^"]*)">([^<]*)</g)].map(([, address, label]) => `${address} ${label}`);
}

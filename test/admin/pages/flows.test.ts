import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startBrowser } from '../../support/servers/browser.ts';
import { anAnswer } from './an-answer.ts';
import { openReader, type Reader } from './reader.ts';

let browser: Browser;
beforeAll(async () => {
  browser = await startBrowser();
});
afterAll(() => browser.close());

const main = (page: Page) => page.locator('main');
const notice = (page: Page) => page.locator('main .notice').first();

describe('Overview', () => {
  test('says in one sentence whether leadsync is healthy, what is wrong, and what to do next', async () => {
    const { page, go, faults } = await openReader(browser);
    await go('/');
    await expect.poll(() => page.locator('h1').textContent()).toBe('2 critical problems and 1 warning.');
    expect(await page.locator('.problems li').allTextContents()).toEqual([
      expect.stringMatching(
        /^Critical\s*The sink warehouse .*held for 38 min.*refuses connections\..+See sink\s*Try now…\s*See runbook\s*$/s,
      ),
      expect.stringMatching(
        /^Critical\s*3 deliveries to crm are dead.*422\.\s*See why, and fix the cause before you retry\.\s*See 3 dead\s*Retry…\s*Discard…\s*See runbook\s*$/s,
      ),
      expect.stringMatching(
        /^Warning\s*Export lake failed 3 times.*leadsync export --name lake.*See export\s*Export now…\s*See runbook\s*$/s,
      ),
    ]);
    expect(faults).toEqual([]);
  });

  test('has the actions on a problem beside it, and returns to the overview after one', async () => {
    const { page, go, operations, faults } = await openReader(browser);
    await go('/');
    await page.locator('.problems li').first().getByRole('button', { name: 'Try now…' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Try now' }).click();
    await page.getByText('The next probe of warehouse is due now.').waitFor();
    expect(new URL(page.url()).pathname).toBe('/');
    await page.getByRole('link', { name: 'See 3 dead: crm' }).click();
    await page.waitForURL('**/deliveries?sink=crm&state=dead');
    await go('/');
    await page.locator('.problems').getByRole('button', { name: 'Discard…' }).click();
    await page.getByRole('dialog').getByLabel('Note').fill('their form was broken');
    await page
      .getByRole('dialog')
      .getByRole('button', { name: /^Discard \d+ dead/ })
      .click();
    await page.getByText(/are discarded\.$/).waitFor();
    expect(operations.actions).toEqual([
      'resume warehouse',
      expect.stringMatching(/^discard {"sink":"crm","state":"dead"} their form was broken: [1-9]/),
    ]);
    expect(faults).toEqual([]);
  });

  test('does not label a sink with a problem as healthy, nor do the pages of sinks', async () => {
    const { page, go } = await openReader(browser);
    for (const [path, place] of [
      ['/', page.locator('#sink-crm')],
      ['/sinks', page.locator('#sink-crm h2')],
      ['/sinks/crm', page.locator('.heading')],
    ] as const) {
      await go(path);
      expect(await place.locator('.badge').allInnerTexts(), path).toEqual(['3 dead']);
    }
    await go('/sinks');
    expect(await page.locator('#sink-drop h2 .badge').allInnerTexts()).toEqual(['healthy']);
    expect(await page.locator('#sink-warehouse h2 .badge').allInnerTexts()).toEqual(['held']);
  });

  test('gives no source with a problem a green label, nor does the page of polls', async () => {
    const { page, go, operations } = await openReader(browser);
    const problems = ['listing_shrunk', 'leads_rejected'];
    operations.sources = operations.sources.map((one) => ({ ...one, last_poll_status: 'success', problems }));
    await go('/');
    const labels = page.locator('#source-brisbane .badge');
    expect(await labels.allInnerTexts()).toEqual(['shrunk', '2 rejected']);
    expect(await page.locator('#source-main .badge.good').count()).toBe(0);
    operations.sources = operations.sources.map((one) => ({ ...one, problems: [] }));
    await go('/');
    expect(await labels.allInnerTexts()).toEqual(['success']);
    const [first] = operations.pollRows;
    if (!first) throw new Error('there is no poll');
    operations.pollRows = [
      { ...first, poll_id: 3, status: 'success', problems: ['listing_shrunk'] },
      { ...first, poll_id: 2, status: 'failed', problems: ['source_refused'] },
      { ...first, poll_id: 1, status: 'success', problems: [] },
    ];
    await go('/polls');
    expect(await page.getByRole('table', { name: 'Polls' }).locator('.badge').allInnerTexts()).toEqual([
      'shrunk',
      'failed',
      'refused',
      'success',
    ]);
  });

  test('draws leads per hour, and has the numbers as text for screen readers', async () => {
    const { page, go, operations, faults } = await openReader(browser);
    operations.hours = operations.hours.map((hour) => ({ ...hour, leads: 10 }));
    await go('/');
    expect(await barsOf(page)).toBe(48);
    expect(await page.getByRole('img').getAttribute('aria-label')).toMatch(/480 new leads.*at most 10/);
    expect(faults).toEqual([]);
  });

  test('cuts a bar that would flatten all others, and prints its height', async () => {
    const { page, go, operations, faults } = await openReader(browser, { refreshMs: 60_000 });
    await page.addInitScript(keepDrawnTexts);
    operations.hours = operations.hours.map((hour, at) => ({ ...hour, leads: at === 20 ? 20_779 : 10 }));
    await go('/');
    expect(await barsOf(page)).toBe(48);
    expect(await drawnTexts(page)).toContain('↑ 20,779');
    operations.hours = operations.hours.map((hour, at) => ({ ...hour, leads: at === 20 ? 60 : 10 }));
    await go('/');
    expect(await barsOf(page)).toBe(48);
    expect((await drawnTexts(page)).join()).not.toContain('↑');
    expect(faults).toEqual([]);
  });

  test('prints the time of day along a chart, and the date where a day begins', async () => {
    const { page, go } = await openReader(browser, { refreshMs: 60_000 });
    await page.addInitScript(keepDrawnTexts);
    await go('/');
    await barsOf(page);
    const texts = new Set(await drawnTexts(page));
    expect([...texts].filter((text) => /^\d+ [A-Z][a-z]+$/.test(text)).sort()).toEqual([
      '20 Nov',
      '21 Nov',
      '22 Nov',
    ]);
    expect(texts).toContain('00:00');
  });

  test('shows the state of each export in words, and links a problem to its row', async () => {
    const { page, go, operations, faults } = await openReader(browser);
    await go('/');
    await page.getByRole('link', { name: 'See export: lake' }).click();
    expect(new URL(page.url()).hash).toBe('#export-lake');
    const table = page.getByRole('table', { name: 'Exports' });
    const rows = async () =>
      (await table.locator('tbody tr').allInnerTexts()).map((text) => text.replace(/\s+/g, ' ').trim());
    expect(await rows()).toEqual([
      expect.stringMatching(
        /^nightly made \/srv\/leads\/exports daily at 03:00 \(Australia\/Brisbane\) 21 h 30 min ago 48,214 21.4 MB 22 Nov 04:02:07 Export now…$/,
      ),
      expect.stringMatching(
        /^lake failed 3 times in a row: The storage .*ECONNREFUSED\)\. s3:\/\/acme-leads\/leadsync\/ every 1 h 3 h 30 min ago 61 40 kB /,
      ),
      expect.stringMatching(/^changes made \/srv\/leads\/changes every 15 min 11 min ago no rows 312 B /),
      'archive running /mnt/archive every 7 d never – – –',
      expect.stringMatching(/^weekly-\S+ new no run yet \S+ daily at 23:30 \(UTC\) never – – /),
    ]);
    operations.exports = operations.exports.map((one) => ({
      ...one,
      state: 'failed' as const,
      failures: 1,
      last_error: '<b>No room.</b>',
      next_at: operations.now.toISOString(),
    }));
    await go('/');
    expect((await rows())[3]).toBe(
      'archive failed <b>No room.</b> /mnt/archive every 7 d never – – due now Export now…',
    );
    operations.exports = [];
    await go('/');
    expect(await page.getByRole('heading').allInnerTexts()).not.toContain('Exports');
    expect(faults).toEqual([]);
  });

  test.each(['Export now… nightly', 'Back up now… daily', 'Export now… archive'])(
    'runs an export or a backup before it is due, unless it is running: %s',
    async (name) => {
      const { page, go, operations, faults } = await openReader(browser, { refreshMs: 60_000 });
      await go('/');
      const button = page.getByRole('button', { name, exact: true });
      const isRunning = name.endsWith('archive');
      expect(await button.count()).toBe(isRunning ? 0 : 1);
      if (isRunning) return;
      const old = '/srv/leads/exports/nightly-20261114T170207Z.parquet';
      operations.exportPreview = { keep: 7, removed: [old], unknown: null };
      await button.click();
      const ask = page.getByRole('dialog');
      await ask.filter({ hasText: old }).waitFor();
      expect(await ask.innerText()).toMatch(/Because of keep: 7, it removes 1 older (?:export|backup):/);
      expect(operations.actions).toEqual([]);
      await ask.locator('button[name=sure]').dblclick();
      await notice(page).filter({ hasText: ' begins as soon as no other export or backup runs.' }).waitFor();
      expect(operations.actions).toEqual([
        name.startsWith('Export') ? 'run export nightly' : 'run backup daily',
      ]);
      expect(faults).toEqual([]);
    },
  );

  test('shows the state of leadsync in the title and the icon', async () => {
    const { page, go, operations } = await openReader(browser);
    await go('/');
    expect(await page.title()).toBe('3 problems · Overview · leadsync');
    expect(await page.locator('#icon').getAttribute('href')).toContain('critical-');
    operations.problems = [];
    await expect.poll(() => page.title()).toBe('Overview · leadsync');
    operations.installation = 'north';
    await page.reload();
    expect(await page.title()).toBe('Overview · leadsync north');
    expect(await page.locator('.brand').textContent()).toBe('leadsync north');
    expect(await page.locator('#icon').getAttribute('href')).toContain('well-');
  });
});

describe('Leads', () => {
  test('are found by id, and link to their pages', async () => {
    const { page, go, faults } = await openReader(browser);
    await go('/leads');
    await page.getByLabel('Id').fill('48196');
    await page.getByRole('button', { name: 'Show' }).click();
    await page.waitForURL('**/leads?lead=48196');
    await page.getByRole('link', { name: '48196' }).click();
    await expect.poll(() => page.locator('h1').textContent()).toBe('Lead 48196');
    expect(faults).toEqual([]);
  });

  test('are found by service and time; the form has the reader’s time zone, the address UTC', async () => {
    const { page, go } = await openReader(browser);
    await go('/leads');
    await page.getByLabel('Service').fill('painting');
    await page.getByLabel('First seen or gone since').fill('2026-11-22 00:30');
    await page.getByRole('button', { name: 'Show' }).click();
    await page.waitForURL((url) => url.searchParams.get('since') === '2026-11-21T13:30:00.000Z');
    expect(await page.getByLabel('First seen or gone since').inputValue()).toBe('2026-11-22 00:30');
    const services = await page.locator('td[data-label="Service"]').allInnerTexts();
    expect(services.length).toBeGreaterThan(0);
    expect(new Set(services)).toEqual(new Set(['painting']));
  });

  test('have different messages for no match, no lead at all and an invalid filter', async () => {
    const { page, go, operations } = await openReader(browser);
    await go('/leads?service=nothing');
    expect(await page.locator('.empty').textContent()).toContain('No lead matches');
    operations.leadRows = [];
    await go('/leads');
    expect(await page.locator('.empty').textContent()).toContain('No source has listed a lead yet');
    await go('/leads?lead=abc&since=yesterday');
    expect(await main(page).textContent()).toContain('see the marked fields');
    expect(await main(page).textContent()).toContain('Id must be a number of at most 19 digits.');
    expect(await main(page).textContent()).toContain('must be an age');
    expect(await page.getByLabel('Id').inputValue()).toBe('abc');
  });

  test('that a source no longer lists are linked from its problem, and shown with the time since when they are gone', async () => {
    const { page, go, operations, faults } = await openReader(browser);
    operations.problems = [
      {
        code: 'listing_shrunk',
        severity: 'warning',
        about: 'main',
        message: 'main lists 6 leads, and listed 130 within a week before.',
        next_step: 'See whether this is the right account.',
        page_step: 'See whether this is the right account.',
        runbook: 'docs/operating.md#listing-shrunk',
        runbook_url: null,
      },
    ];
    await go('/');
    await page.getByRole('link', { name: 'See leads that are gone: main' }).click();
    await page.waitForURL('**/leads?listing=gone&source=main');
    const gone = operations.leadRows.filter(({ gone_at, source }) => gone_at !== null && source === 'main');
    expect(gone.length).toBeGreaterThan(1);
    expect(await page.locator('td[data-label="Lead"]').allInnerTexts()).toEqual(
      gone.map(({ lead_id }) => lead_id),
    );
    const since = await page
      .locator('td[data-label="Gone since"] time')
      .evaluateAll((times) => times.map((time) => time.getAttribute('datetime')));
    expect(since).toEqual(gone.map(({ gone_at }) => gone_at));
    await page.getByRole('link', { name: gone[0]?.lead_id ?? '' }).click();
    await expect.poll(() => page.locator('.facts').innerText()).toContain('not since');
    expect(faults).toEqual([]);
  });

  test('that a source no longer lists are linked from its polls', async () => {
    const { page, go } = await openReader(browser);
    await go('/polls?source=brisbane');
    await page.getByRole('link', { name: 'Show leads that brisbane no longer lists' }).click();
    await page.waitForURL('**/leads?listing=gone&source=brisbane');
    expect(await page.getByLabel('Listing').inputValue()).toBe('gone');
  });

  test('are divided into pages, with links forward and back', async () => {
    const { page, go } = await openReader(browser);
    await go('/leads?source=main');
    await page.getByRole('link', { name: 'Older' }).click();
    await page.waitForURL('**/leads?source=main&after=50');
    await page.getByRole('link', { name: 'Newest' }).click();
    await page.waitForURL('**/leads?source=main');
  });
});

describe('One lead', () => {
  const show = (page: Page) => page.getByRole('button', { name: 'Show the lead’s data' });

  test('shows its history in chronological order', async () => {
    const { page, go } = await openReader(browser);
    await go('/leads/main/48196');
    expect(await page.locator('main .said').innerText()).toBe(
      'Delivered to 0 of 2 sinks; pending for 1 (warehouse), dead for 1 (crm).',
    );
    const story = await page.locator('.timeline li').allInnerTexts();
    expect(story.map((line) => line.replace(/\s+/g, ' '))).toEqual([
      expect.stringMatching(/First listed in poll 91299/),
      expect.stringMatching(/Owed to 2 sinks: created, version 1 crm, warehouse$/),
      expect.stringMatching(/Attempt at warehouse: unavailable 164 ms 14 identical attempts/),
      expect.stringMatching(/Attempt at crm: refused 164 ms, HTTP 422 .*refused the lead/),
      expect.stringMatching(/Given up for crm .*refused the lead/),
    ]);
    expect(await page.locator('.timeline time').first().getAttribute('title')).toMatch(/^2026-11-21 .* UTC$/);
    expect(await page.locator('.timeline time').first().innerText()).toMatch(/^22 Nov \d\d:\d\d:\d\d$/);
  });

  test('links to its record at the destination, if that has a web address', async () => {
    const { page, go, operations } = await openReader(browser);
    const link = page.locator('.timeline').getByRole('link', { name: 'deal 9001' });
    await go('/leads/main/48175');
    expect(await link.getAttribute('href')).toBe('https://crm.example.com/deals/9001');
    const known = operations.deliveryRows.find(({ ref }) => ref !== null);
    for (const url of ['javascript:alert(1)', 'no address', null]) {
      Object.assign(known ?? {}, { ref: { object: 'deal', id: '9001', url } });
      await go('/leads/main/48175');
      expect(await page.locator('.timeline').innerText()).toContain('deal 9001');
      expect(await link.count()).toBe(0);
    }
  });

  test('shows, as the list does, what a due delivery waits for while its sink accepts nothing', async () => {
    const { page, go, operations } = await openReader(browser);
    await go('/leads/main/48196');
    const ofWarehouse = page
      .getByRole('table', { name: 'Deliveries' })
      .locator('tr', { hasText: 'warehouse' });
    const cells = async () => (await ofWarehouse.locator('td').allInnerTexts()).map((text) => text.trim());
    expect((await cells()).slice(2, 6)).toEqual([
      expect.stringMatching(/^pending waits: sink is held\s+next probe 22 Nov /),
      '14 (0 counted)',
      expect.stringMatching(/^22 Nov /),
      '–',
    ]);
    await go('/deliveries?state=pending&sink=warehouse');
    await page.getByText('waits: sink is held').first().waitFor();
    operations.sinkRows = operations.sinkRows.map((row) => ({ ...row, state: 'healthy' }));
    await go('/leads/main/48196');
    expect((await cells()).slice(2, 6)).toEqual([
      'pending',
      '14 (0 counted)',
      expect.stringMatching(/^22 Nov /),
      'due now',
    ]);
    await go('/deliveries?state=pending&sink=warehouse');
    await page.getByText('due now').first().waitFor();
    operations.deliveryRows = operations.deliveryRows.map((row) =>
      row.state === 'pending' ? { ...row, waits_for_batch_until: '2026-11-21T14:37:00.000Z' } : row,
    );
    await go('/deliveries?state=pending&sink=warehouse');
    const waits = 'waits for its batch until 22 Nov 01:37:00 at the latest';
    const shown = page.getByRole('cell', { name: waits });
    await shown.first().waitFor();
    expect(await page.getByText('due now').count()).toBe(0);
    await go('/leads/main/48196');
    await ofWarehouse.getByText(waits).waitFor();
    expect((await cells())[5]).toBe('–');
  });

  test('masks its data until a user reveals it, which the audit log records', async () => {
    const { page, go, operations, faults } = await openReader(browser);
    await go('/leads/main/48196');
    expect(await page.content()).not.toContain('Ada Example');
    expect(operations.actions).toEqual([]);
    await show(page).click();
    await page.getByText('Ada Example').first().waitFor();
    expect(operations.actions).toEqual(['reveal main 48196']);
    expect(page.url()).toBe(`${new URL(page.url()).origin}/leads/main/48196`);
    await page.getByRole('link', { name: 'Hide' }).click();
    await show(page).waitFor();
    expect(await page.content()).not.toContain('Ada Example');
    expect(faults).toEqual([]);
  });

  test('shows a version and its changes when a user asks, which the audit log records', async () => {
    const { page, go, operations, faults } = await openReader(browser);
    operations.leadRows = operations.leadRows.map((row) => ({ ...row, version: 2 }));
    await go('/leads/main/48196');
    expect(await page.content()).not.toContain('+61');
    await page.getByRole('button', { name: 'Show version 2' }).click();
    const changed = page.getByRole('table', { name: 'Changes' });
    expect((await changed.locator('tbody tr').first().innerText()).split(/\s*\t\s*|\n+/)).toEqual([
      'client_phone_number',
      '+61 400 000 001',
      '+61 400 000 002',
    ]);
    expect(
      await page.locator('#content').evaluate((section) => section.getBoundingClientRect().top),
    ).toBeLessThan(800);
    await page.getByRole('button', { name: 'Show version 1' }).click();
    await page.getByRole('heading', { name: /version 1, since/ }).waitFor();
    expect(await changed.count()).toBe(0);
    expect(await page.content()).not.toContain('+61 400 000 002');
    expect(operations.actions).toEqual(['reveal main 48196 version 2', 'reveal main 48196 version 1']);
    expect(faults).toEqual([]);
  });

  test('shows the answers of destinations only together with its data, because they may repeat it', async () => {
    const { page, go, operations, faults } = await openReader(browser);
    operations.answers = [anAnswer('{"error":"no agent for Ada Example"}')];
    await go('/leads/main/48196');
    expect(await page.content()).not.toContain('no agent');
    await show(page).click();
    await page.getByRole('heading', { name: 'Answers of destinations' }).waitFor();
    const said = await page.locator('.answers li').innerText();
    expect(said.replace(/\s+/g, ' ')).toMatch(
      /crm: refused HTTP 422 \{ "error": "no agent for Ada Example" \}$/,
    );
    expect(faults).toEqual([]);
  });

  test('keeps its revealed data while the rest of the page refreshes', async () => {
    const { page, go, operations } = await openReader(browser);
    await go('/leads/main/48196');
    await show(page).click();
    await page.getByText('Ada Example').first().waitFor();
    operations.deliveryRows = [];
    await page.getByText('There are no deliveries: no sink').waitFor();
    expect(await page.getByText('Ada Example').count()).toBeGreaterThan(0);
    expect(operations.actions).toHaveLength(1);
  });

  test('is retried and replayed after a confirmation', async () => {
    const { page, go, operations, faults } = await openReader(browser);
    await go('/leads/main/48196');
    await page.locator('tr', { hasText: 'crm' }).getByRole('button', { name: 'Retry…' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Retry' }).click();
    await notice(page).getByText('The delivery is due now').waitFor();
    await page.locator('tr', { hasText: 'crm' }).getByRole('button', { name: 'Replay…' }).click();
    expect(await page.getByRole('dialog').innerText()).toContain('Send lead 48196 to crm again?');
    await page.getByRole('dialog').getByRole('button', { name: 'Replay' }).click();
    await notice(page).getByText('1 delivery to crm was added.').waitFor();
    expect(operations.actions).toEqual([
      expect.stringMatching(/^retry \{"delivery":"crm:main:48196:1:[0-9a-f]+"\}: 1$/),
      'replay crm main 48196',
    ]);
    expect(faults).toEqual([]);
  });

  test('that no source has listed is reported as unknown', async () => {
    const { page, go } = await openReader(browser);
    await go('/leads/main/999');
    expect(await main(page).textContent()).toContain('The ledger has no lead 999 of source main.');
  });
});

describe('What each sink gets', () => {
  const show = (page: Page) => page.getByRole('button', { name: 'Show what each sink gets' });

  test('is hidden until a user reveals it, which the audit log records', async () => {
    const { page, go, operations, faults } = await openReader(browser);
    await go('/leads/main/48196');
    expect(await page.content()).not.toContain('Ada Example');
    await show(page).click();
    const cards = page.locator('#previews .card');
    await cards.first().waitFor();
    expect(operations.actions).toEqual(['previews main 48196']);
    const texts = (await cards.allInnerTexts()).map((text) => text.replace(/\s+/g, ' '));
    expect(texts).toEqual([
      expect.stringMatching(
        /^crm webhook has the lead .*is not sent again automatically.* name Ada Example phone null rooms 9007199254740993 POST https/,
      ),
      expect.stringMatching(
        /^drop csv does not get the lead The expression of rooms failed for this lead at column 5: /,
      ),
      expect.stringMatching(
        /^warehouse postgres has the lead If it were sent again now: Left out by where of warehouse\. It would send: row of leads lead_id 48196 Only the first 100,000 .*leadsync preview --sink warehouse --lead 48196 shows all\./,
      ),
    ]);
    await cards.first().locator('summary').click();
    await page.getByText('"type":"lead.created"').waitFor();
    await page.locator('#previews').getByRole('link', { name: 'Hide' }).click();
    await show(page).waitFor();
    expect(await page.content()).not.toContain('Ada Example');
    expect(faults).toEqual([]);
  });

  test('links to the playground, which evaluates an expression for this lead', async () => {
    const { page, go, operations, faults } = await openReader(browser);
    await go('/leads/main/48196');
    await page.getByRole('link', { name: 'Try an expression on this lead' }).click();
    await page.waitForURL('**/playground?source=main&lead=48196');
    expect(await page.getByLabel('Lead', { exact: true }).inputValue()).toBe('main:48196');
    expect(operations.actions).toEqual([]);
    await page.getByLabel('Sink').selectOption('crm');
    await page.getByLabel('Expression').fill('lead.client_name');
    await page.getByRole('button', { name: 'Evaluate' }).click();
    await page.getByRole('heading', { name: 'Value text of 3 characters, for lead 48196 of main' }).waitFor();
    expect(await page.locator('#result pre').innerText()).toBe('Ada');
    expect(operations.actions).toEqual(['try "lead.client_name" on main 48196 for crm']);
    expect(faults).toEqual([]);
  });
});

describe('Playground', () => {
  const evaluate = async (page: Page, expression: string) => {
    await page.getByLabel('Expression').fill(expression);
    await page.getByRole('button', { name: 'Evaluate' }).click();
  };

  test('evaluates for the sample lead at first, lists what an expression can use, and names no orphaned sink', async () => {
    const { page, go, operations, faults } = await openReader(browser);
    await go('/');
    await page.getByRole('link', { name: 'Playground' }).click();
    await evaluate(page, '1');
    await page.getByRole('heading', { name: 'for the sample lead' }).waitFor();
    expect(operations.actions).toEqual(['try "1" on the sample lead for no sink']);
    expect(await page.getByLabel('Sink').locator('option').allInnerTexts()).toEqual([
      'no sink',
      'crm',
      'drop',
      'warehouse',
    ]);
    expect(await page.locator('main').innerText()).toMatch(/lead\.client_phone_number\s+text/);
    expect(await page.locator('main').innerText()).toContain('the email address in lower case');
    expect(faults).toEqual([]);
  });

  test('marks the characters of a fault, and suggests the intended name', async () => {
    const { page, go, operations, faults } = await openReader(browser);
    await go('/playground');
    const fault = { kind: 'fault' as const, message: 'there is no field client_nam' };
    operations.tried = { ...fault, hint: 'did you mean "client_name"?', place: { start: 5, end: 15 } };
    await evaluate(page, 'lead.client_nam');
    await page.getByRole('heading', { name: 'The expression has a fault' }).waitFor();
    expect(await page.locator('#result mark').innerText()).toBe('client_nam');
    expect(await page.locator('#result .fault').innerText()).toBe(
      'Column 6: there is no field client_nam; did you mean "client_name"?',
    );
    operations.tried = { ...fault, hint: '', place: { start: 8, end: 9 } };
    await evaluate(page, '1 +\n  a.x');
    await page.getByText('Line 2, column 5: there is no field client_nam').waitFor();
    operations.tried = { ...fault, message: 'it ends too early', hint: '', place: { start: 3, end: 3 } };
    await evaluate(page, '1 +');
    await page.getByText('Column 4: it ends too early').waitFor();
    operations.tried = {
      ...fault,
      kind: 'failed',
      message: 'It took longer than 5 s.',
      hint: '',
      place: null,
    };
    await evaluate(page, '1 + 1');
    await page.getByRole('heading', { name: 'The expression fails for the sample lead' }).waitFor();
    expect(await page.locator('#result mark').count()).toBe(0);
    expect(faults).toEqual([]);
  });

  test('evaluates for another lead by its id, if there is one source', async () => {
    const { page, go, operations } = await openReader(browser);
    operations.sources = operations.sources.slice(0, 1);
    await go('/playground');
    await page.getByLabel('Or another lead').fill('7');
    await evaluate(page, 'lead.id');
    await page.getByRole('heading', { name: 'for lead 7 of main' }).waitFor();
  });

  test('accepts at most 4,000 characters', async () => {
    const { page, go } = await openReader(browser);
    await go('/playground');
    await page.getByLabel('Expression').focus();
    await page.keyboard.insertText('x'.repeat(4_001));
    expect(await page.getByLabel('Expression').inputValue()).toHaveLength(4_000);
  });
});

describe('Deliveries', () => {
  test('are filtered by sink and state, which the address contains', async () => {
    const { page, go } = await openReader(browser);
    await go('/deliveries');
    await page.getByLabel('Sink').selectOption('crm');
    await page.getByLabel('State').selectOption('dead');
    await page.getByRole('button', { name: 'Show' }).click();
    await page.waitForURL('**/deliveries?sink=crm&state=dead');
    expect(await page.locator('tbody tr').count()).toBe(3);
  });

  test('the selected ones are retried, after a question with their number', async () => {
    const { page, go, operations, faults } = await openReader(browser);
    await go('/deliveries?state=dead');
    const selected = page.getByRole('button', { name: 'Retry selected…' });
    expect(await selected.isDisabled()).toBe(true);
    await page.getByRole('checkbox', { name: 'Select lead' }).nth(0).check();
    await page.getByRole('checkbox', { name: 'Select lead' }).nth(2).check();
    await selected.click();
    await page.getByRole('button', { name: 'Retry 2 selected deliveries' }).click();
    await notice(page).getByText('2 deliveries are due now.').waitFor();
    expect(page.url()).toContain('/deliveries?state=dead');
    expect(operations.actions).toHaveLength(2);
    expect(faults).toEqual([]);
  });

  test('a dialog shows the destination’s answer to a dead delivery, and nothing else', async () => {
    const { page, go, operations, faults } = await openReader(browser);
    const [dead, other] = operations.deliveryRows.filter(({ state }) => state === 'dead');
    operations.answers = [dead, other].map((row) => ({
      ...anAnswer(`no agent for lead ${row?.lead_id}`),
      delivery_id: row?.delivery_id ?? '',
    }));
    await go('/deliveries?state=dead');
    expect(await page.content()).not.toContain('no agent');
    await page.getByRole('button', { name: 'Answer…' }).first().click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText(`no agent for lead ${dead?.lead_id}`).waitFor();
    expect((await dialog.innerText()).replace(/\s+/g, ' ')).toMatch(
      /^1 answer to lead \d+ of main .*crm: refused HTTP 422 no agent for lead \d+ Close$/,
    );
    expect(operations.actions).toEqual([`reveal main ${dead?.lead_id} of ${dead?.delivery_id}`]);
    await dialog.getByRole('link', { name: 'Close' }).click();
    await page.getByText('no agent').waitFor({ state: 'detached' }); // the browser reports later that a dialog is closed
    expect(await page.content()).not.toContain('no agent');
    expect(new URL(page.url()).pathname).toBe('/deliveries');
    expect(faults).toEqual([]);
  });

  test('all that match are retried, after a question with their number', async () => {
    const { page, go, operations } = await openReader(browser);
    await go('/deliveries?sink=warehouse&state=pending');
    await page.getByRole('button', { name: 'Retry all pending…' }).click();
    await page.getByRole('button', { name: 'Retry 9 pending deliveries' }).click();
    await notice(page).getByText('9 deliveries are due now.').waitFor();
    expect(operations.actions).toEqual(['retry {"sink":"warehouse","state":"pending"}: 9']);
  });

  test('none is retried if the reader cancels the question', async () => {
    const { page, go, operations } = await openReader(browser);
    await go('/deliveries?state=dead');
    const all = page.getByRole('button', { name: 'Retry all dead…' });
    await all.click();
    await page.getByRole('link', { name: 'Cancel' }).click();
    await page.getByRole('dialog').waitFor({ state: 'hidden' });
    await all.click();
    await page.getByRole('dialog').waitFor(); // before it is there, Escape has nothing to close
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'hidden' });
    expect(operations.actions).toEqual([]);
  });
});

describe('Sinks', () => {
  const card = (page: Page, sink: string) => page.locator(`#sink-${sink}`);

  test('one is paused with a reason, and resumed', async () => {
    const { page, go, operations, faults } = await openReader(browser);
    await go('/sinks');
    await card(page, 'crm').getByRole('button', { name: 'Pause…' }).click();
    await page.getByLabel('Reason').fill('the CRM is being upgraded');
    await page.getByRole('button', { name: 'Pause', exact: true }).click();
    await notice(page).getByText('crm is paused.').waitFor();
    expect(await card(page, 'crm').innerText()).toContain('the CRM is being upgraded');
    await card(page, 'crm').getByRole('button', { name: 'Resume…' }).click();
    await page.getByRole('button', { name: 'Resume', exact: true }).click();
    await notice(page).getByText('crm is resumed.').waitFor();
    expect(operations.actions).toEqual(['pause crm: the CRM is being upgraded', 'resume crm']);
    expect(faults).toEqual([]);
  });

  test('a held one is probed immediately when a reader presses “Try now”', async () => {
    const { page, go, operations, faults } = await openReader(browser);
    await go('/sinks');
    await card(page, 'warehouse').getByRole('button', { name: 'Try now…' }).click();
    await page.getByText('Try warehouse now?').waitFor();
    await page.getByRole('button', { name: 'Try now', exact: true }).click();
    await notice(page).getByText('The next probe of warehouse is due now.').waitFor();
    expect(await card(page, 'warehouse').innerText()).toContain('held');
    expect(operations.actions).toEqual(['resume warehouse']);
    expect(faults).toEqual([]);
  });

  test('one is tested, and the page shows the result', async () => {
    const { page, go, operations } = await openReader(browser);
    const test = async () => {
      await go('/sinks');
      await card(page, 'crm').getByRole('button', { name: 'Test…' }).click();
      await page.getByRole('button', { name: 'Send it' }).click();
    };
    await test();
    await notice(page).getByText('crm accepted the test event in 143 ms. It answered 204.').waitFor();
    operations.testResult = {
      arrived: false,
      duration_ms: 15_000,
      what: 'It did not answer. See whether it runs.',
    };
    await test();
    await notice(page).getByText('crm did not accept the test event (15 s). It did not answer.').waitFor();
    expect(await notice(page).getAttribute('role')).toBe('alert');
  });

  test('the button of one that is being tested says so and cannot be pressed again', async () => {
    const { page, go } = await openReader(browser);
    await go('/sinks');
    await card(page, 'crm').getByRole('button', { name: 'Test…' }).click();
    // Nothing can be asked of a page that is about to be left: it keeps what it saw for the next one.
    await page.evaluate(() => {
      const keep = () =>
        sessionStorage.setItem('seen', document.querySelector('#ask button')?.outerHTML ?? '');
      new MutationObserver(keep).observe(document.body, { attributes: true, childList: true, subtree: true });
    });
    await page.getByRole('button', { name: 'Send it' }).click();
    await notice(page).waitFor();
    const seen = await page.evaluate(() => sessionStorage.getItem('seen'));
    expect(seen).toMatch(/ disabled="">Working…</);
  });

  test('the dead deliveries of one are retried, after a question with their number', async () => {
    const { page, go, operations } = await openReader(browser);
    await go('/sinks');
    await card(page, 'crm').getByRole('button', { name: 'Retry 3 dead…' }).click();
    await page.getByRole('button', { name: 'Retry 3 dead deliveries' }).click();
    await notice(page).getByText('3 deliveries of crm are due now.').waitFor();
    expect(operations.actions).toEqual(['retry {"sink":"crm","state":"dead"}: 3']);
  });

  test('one that the configuration no longer has says what becomes of its leads, and has no buttons', async () => {
    const { page, go } = await openReader(browser);
    await go('/sinks');
    expect(await card(page, 'old-crm').innerText()).toContain('leadsync forget');
    expect(await card(page, 'old-crm').getByRole('button').count()).toBe(0);
  });
});

describe('Polls', () => {
  test('are shown with their results, and filtered by outcome', async () => {
    const { page, go } = await openReader(browser);
    await go('/polls');
    await page.getByLabel('Status').selectOption('failed');
    await page.getByRole('button', { name: 'Show' }).click();
    await page.waitForURL('**/polls?result=failed');
    const rows = page.getByRole('table', { name: 'Polls' }).locator('tbody tr');
    expect(await rows.count()).toBe(1);
    expect(await rows.innerText()).toMatch(/10 s.*503.*asked for 30 s of patience/s);
  });
});

describe('Configuration', () => {
  const reload = async (page: Page) => {
    await page.getByRole('button', { name: 'Reload…' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Reload' }).click();
  };

  test('shows each value with its origin, masks secrets, and is reloaded after a confirmation', async () => {
    const { page, go, operations, faults } = await openReader(browser);
    await go('/configuration');
    const secret = page.locator('tr', { hasText: 'sinks.crm.secret' });
    expect(await secret.innerText()).toMatch(/\[secret\]\s+environment CRM_WEBHOOK_SECRET/);
    await page.getByRole('button', { name: 'Reload…' }).click();
    await page.getByRole('dialog').getByText('still pending: 12 deliveries').waitFor();
    await page.keyboard.press('Escape');
    operations.preview = { ...operations.preview, plan: [], plan_failure: 'The ledger is locked.' };
    await page.getByRole('button', { name: 'Reload…' }).click();
    const unknown = 'How many leads this concerns is unknown: The ledger is locked.';
    await page.getByRole('dialog').getByText(unknown).waitFor();
    await page.keyboard.press('Escape');
    await reload(page);
    await notice(page).getByText('Generation 8 is in force.').waitFor();
    expect(await notice(page).innerText()).toContain('sink crm changed: timeout');
    expect(operations.actions).toEqual(['reload']);
    expect(faults).toEqual([]);
  });

  test('begins each section with the values that are set, and folds its defaults', async () => {
    const { page, go, operations, faults } = await openReader(browser);
    await go('/configuration');
    expect(await page.locator('main h2').allInnerTexts()).toEqual([
      'General',
      'sources.main',
      'sources.brisbane',
      'sinks.crm',
      'sinks.drop',
      'admin',
    ]);
    const crm = page.locator('[id="section-sinks.crm"]');
    const paths = () => crm.locator('tbody tr:visible td[data-label="Option"]').allInnerTexts();
    const set = ['sinks.crm.type', 'sinks.crm.url', 'sinks.crm.secret', 'sinks.crm.timeout'];
    expect(await paths()).toEqual(set);
    await crm.getByText('1 default').click();
    expect(await paths()).toEqual([...set, 'sinks.crm.retry.schedule']);
    operations.config = { ...operations.config, generation: 123 };
    await page.getByText('123', { exact: true }).waitFor();
    expect(await paths()).toEqual([...set, 'sinks.crm.retry.schedule']);
    expect(faults).toEqual([]);
  });

  test('offers a reload only if the file differs from the configuration in force', async () => {
    const { page, go, operations } = await openReader(browser);
    const button = page.getByRole('button', { name: 'Reload…' });
    await go('/configuration');
    await page.getByText('1 option changed and not yet in force').waitFor();
    expect(await button.count()).toBe(1);
    operations.preview = { ...operations.preview, options: [] };
    await page.getByText('The file is in force, so there is nothing to reload').waitFor();
    expect(await button.count()).toBe(0);
    const stale = {
      since: operations.now.toISOString(),
      faults: ['leadsync.yaml:1:1: unexpected'],
      failure: null,
    };
    operations.config = { ...operations.config, stale };
    await button.waitFor();
    expect(await page.locator('.facts').innerText()).toContain('has faults');
    operations.config = { ...operations.config, stale: null };
    operations.preview = {
      file: '/etc/leadsync.yaml',
      options: null,
      plan: [],
      plan_failure: null,
      faults: stale.faults,
    };
    await go('/configuration');
    await button.click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('The configuration file has faults').waitFor();
    expect(await dialog.getByRole('button', { name: 'Reload' }).count()).toBe(0);
    expect(await dialog.innerText()).toMatch(/leadsync\.yaml:1:1: unexpected\s+Back/);
  });

  test('a file with faults changes nothing, and the page lists them', async () => {
    const { page, go, operations } = await openReader(browser);
    const fault = 'leadsync.yaml:21:14: "15 parsecs" is no duration. Write 15s, 5m or 2h.';
    operations.reloadResult = { applied: false, generation: 7, faults: [fault] };
    await go('/configuration');
    await reload(page);
    await notice(page).getByText('generation 7 stays in force').waitFor();
    expect(await notice(page).innerText()).toContain(fault);
    operations.config = {
      ...operations.config,
      stale: { since: operations.now.toISOString(), faults: [fault], failure: null },
    };
    await go('/configuration');
    expect(await notice(page).innerText()).toMatch(/has faults.*stays in force.*15 parsecs/s);
  });
});

/** Keeps what charts write on their canvas. Runs in the browser. */
function keepDrawnTexts(): void {
  const texts: string[] = [];
  Object.assign(window, { drawnTexts: texts });
  const { fillText } = CanvasRenderingContext2D.prototype;
  CanvasRenderingContext2D.prototype.fillText = function (text, ...place) {
    texts.push(text);
    fillText.call(this, text, ...place);
  };
}

function drawnTexts(page: Page): Promise<string[]> {
  return page.evaluate(() => (window as unknown as { drawnTexts: string[] }).drawnTexts);
}

/** How many bars the chart has: runs of columns with a pixel that is more blue than anything else. */
function barsOf(page: Page): Promise<number> {
  return page.locator('#chart canvas').evaluate((canvas) => {
    const { width, height } = canvas as HTMLCanvasElement;
    const image = (canvas as HTMLCanvasElement).getContext('2d')?.getImageData(0, 0, width, height);
    const isBar = (x: number) =>
      Array.from({ length: height }, (_, y) => 4 * (y * width + x)).some((at) => {
        const [red = 0, , blue = 0] = image?.data.subarray(at, at + 3) ?? [];
        return blue - red > 100;
      });
    const columns = Array.from({ length: width }, (_, x) => isBar(x));
    return columns.filter((bar, x) => bar && !columns[x - 1]).length;
  });
}

test('a notice is shown once', async () => {
  const { page, go }: Reader = await openReader(browser);
  await go('/sinks');
  await page.locator('#sink-crm').getByRole('button', { name: 'Test…' }).click();
  await page.getByRole('button', { name: 'Send it' }).click();
  await notice(page).waitFor();
  await go('/sinks');
  expect(await notice(page).count()).toBe(0);
});

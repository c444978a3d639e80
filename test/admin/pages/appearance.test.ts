import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { RejectedRow } from '../../../src/admin/contract/rejected.ts';
import { RequestError } from '../../../src/admin/contract/request-error.ts';
import type { Role } from '../../../src/platform/options/role.ts';
import { startBrowser } from '../../support/servers/browser.ts';
import { aWorld } from './a-world.ts';
import { anAnswer } from './an-answer.ts';
import { AXE, seriousFindings } from './axe.ts';
import { openReader } from './reader.ts';

const everyPage = [
  '/',
  '/leads',
  '/leads/find',
  '/leads?lead=x',
  '/leads/main/48205',
  '/deliveries',
  '/sinks',
  '/sinks/crm',
  '/replay?sink=crm&since=2d',
  '/polls',
  '/alerts',
  '/log',
  '/rejected',
  '/audit',
  '/playground?source=main&lead=48205',
  '/configuration',
  '/runbook',
  '/runbook/sink-held',
  '/login',
] as const;

/** States of pages that are not their first: sorted, filtered, without rows, and errors. */
const everyState = [
  '/leads?order=oldest',
  '/leads?listing=gone&order=oldest',
  '/leads?source=main&service=nothing',
  '/deliveries?state=dead&order=oldest',
  '/deliveries?state=lost',
  '/polls?source=main&order=oldest',
  '/rejected?state=any&order=oldest',
  '/rejected?state=gone',
  '/log?level=error',
  '/audit?who=bob',
  '/sinks/warehouse?period=7d',
  '/sinks/nobody',
  '/runbook/nothing',
  '/sinks/crm?period=2h',
] as const;

/** What a page sends before it is confirmed, or to show what is hidden. */
const everyQuestion: readonly (readonly [path: string, fields: Record<string, string>])[] = [
  ['/sinks/crm/pause', {}],
  ['/sinks/crm/resume', {}],
  ['/sinks/crm/test', {}],
  ['/sinks/crm/retry', {}],
  ['/sinks/crm/cancel-replay', {}],
  ['/deliveries/retry?sink=crm', { all: 'yes' }],
  ['/deliveries/discard?sink=crm', { all: 'yes' }],
  ['/leads/main/48196/replay?sink=crm', {}],
  ['/leads/main/48196/retry?delivery=x', {}],
  ['/replay', { sink: 'crm', which: 'all' }],
  ['/replay', {}],
  ['/configuration/reload', {}],
  ['/rejected/3/data', {}],
  ['/rejected/9/data', {}],
];

let browser: Browser;
beforeAll(async () => {
  browser = await startBrowser();
});
afterAll(() => browser.close());

/** Few rows: each is like the others, and axe looks at every one. */
function aSmallWorld() {
  const { leads, polls, deliveries, ...world } = aWorld();
  return {
    ...world,
    leads: leads.slice(0, 8),
    polls: polls.slice(0, 8),
    deliveries: deliveries.slice(6, 16),
  };
}

function theRejected(): RejectedRow[] {
  const at = '2026-11-20T10:00:00.000Z';
  const fault = { source: 'main', lead_id: '7', path: 'created_at', reason: 'is no time' };
  const polls = { poll_id: 3, rejected_at: at, last_poll_id: 4, last_rejected_at: at };
  return [
    { ...fault, ...polls, rejected_id: 3, resolved_at: null, state: 'open' },
    { ...fault, ...polls, rejected_id: 2, resolved_at: null, state: 'gone' },
    { ...fault, ...polls, rejected_id: 1, resolved_at: at, state: 'resolved' },
  ];
}

const stale = {
  code: 'config_stale',
  severity: 'warning',
  about: null,
  message: 'The configuration file has faults, so the previous one stays in force.',
  next_step: 'Correct it, then `leadsync reload`.',
  page_step: 'Correct it, then `leadsync reload`.',
  runbook: 'docs/operating.md#the-first-minute',
  runbook_url: null,
} as const;

/** Sends a form, as a page without scripts does. Runs in the browser. */
function post([path, fields]: (typeof everyQuestion)[number]): void {
  const form = document.createElement('form');
  Object.assign(form, { method: 'post', action: path });
  for (const [name, value] of Object.entries(fields))
    form.append(Object.assign(document.createElement('input'), { type: 'hidden', name, value }));
  document.body.append(form);
  HTMLFormElement.prototype.submit.call(form);
}

describe('nobody is kept out, in either theme,', () => {
  const openSmall = async (role: Role = 'admin') => {
    // The policy would not let axe in, which is no script of a page.
    const context = { bypassCSP: true };
    const reader = await openReader(browser, { refreshMs: 60_000, world: aSmallWorld(), context, role });
    await reader.page.addInitScript({ path: AXE });
    reader.operations.rejectedRows = theRejected();
    return reader;
  };

  test.each([...everyPage, ...everyState])('by the page %s', async (path) => {
    const { page, go } = await openSmall();
    await go(path);
    expect(await seriousFindings(page)).toEqual([]);
  });

  test('by a page as a viewer sees it', async () => {
    const { page, go } = await openSmall('viewer');
    for (const path of ['/', '/leads', '/deliveries', '/sinks/crm', '/polls', '/rejected']) {
      await go(path);
      expect(await seriousFindings(page), path).toEqual([]);
    }
  });

  test.each([
    ['a failure inside', new Error('broken')],
    ['a ledger that is busy', new RequestError(503, 'too-slow', 'The query took too long.', 'Try again.')],
  ])('by the page of %s', async (_, failure) => {
    const { page, go, operations } = await openSmall();
    operations.failure = failure;
    await go('/leads');
    await page.getByRole('link', { name: 'Try again' }).waitFor();
    expect(await seriousFindings(page)).toEqual([]);
  });

  test('by a page while the configuration file has faults', async () => {
    const { page, go, operations } = await openSmall();
    const faults = ['leadsync.yaml:19:5: `url` is not an address.'];
    operations.problems = [stale];
    operations.config = { ...operations.config, stale: { since: '2026-11-21T14:00:00Z', faults } };
    operations.preview = { file: '/etc/leadsync.yaml', options: null, plan: [], plan_failure: null, faults };
    operations.reloadResult = { applied: false, generation: 7, faults };
    for (const path of ['/', '/configuration', '/deliveries']) {
      await go(path);
      expect(await seriousFindings(page), path).toEqual([]);
    }
    for (const fields of [{}, { sure: 'yes' }]) {
      await go('/login');
      const shown = page.waitForURL('**/configuration**');
      await page.evaluate(post, ['/configuration/reload', fields] as const);
      await shown;
      await page.getByText('is not an address').first().waitFor();
      expect(await seriousFindings(page)).toEqual([]);
    }
  });

  test('by the overview without any problem, and without anything on it', async () => {
    const { page, go, operations } = await openSmall();
    operations.problems = [];
    operations.sinkRows = operations.sinkRows.filter(({ sink }) => sink === 'drop');
    await go('/');
    await page.getByRole('heading', { name: /^No problems/ }).waitFor();
    expect(await seriousFindings(page)).toEqual([]);
    Object.assign(operations, { sinkRows: [], sources: [], exports: [], backups: [], speeds: [], hours: [] });
    await go('/');
    expect(await seriousFindings(page)).toEqual([]);
  });

  test('by the page that goes on after a login', async () => {
    const { page, go } = await openSmall();
    await page.route('**/onward', async (route) => {
      const answer = await route.fetch();
      // Without the refresh, the page stays while it is looked at.
      const body = (await answer.text()).replace(/<meta http-equiv="refresh"[^>]*>/, '');
      await route.fulfill({ response: answer, body });
    });
    await go('/onward');
    await page.getByRole('link', { name: 'Continue' }).waitFor();
    expect(await seriousFindings(page)).toEqual([]);
  });

  test('by any question, on a page of its own', async () => {
    const { page, go } = await openSmall();
    for (const [path, fields] of everyQuestion) {
      await go('/login');
      const answered = page.waitForResponse((response) => response.request().method() === 'POST');
      await page.evaluate(post, [path, fields] as const);
      await answered;
      await page.locator('nav[aria-label="Pages"]').waitFor();
      expect(await seriousFindings(page), path).toEqual([]);
    }
  });

  test('by a question or a lead’s data', async () => {
    const { page, go } = await openSmall();
    await go('/leads/main/48205');
    await page.getByRole('button', { name: 'Show the lead’s data' }).click();
    await page.getByText('Ada Example').first().waitFor();
    expect(await seriousFindings(page)).toEqual([]);
    await page.getByRole('button', { name: 'Show what each sink gets' }).click();
    await page.getByText('POST https://crm.example.com/[secret]').waitFor();
    await page.locator('summary').first().click();
    expect(await seriousFindings(page)).toEqual([]);
    await go('/leads');
    await page.getByLabel('Name, email address or phone number').fill('482');
    await page.getByRole('button', { name: 'Find' }).click();
    await page.getByText('Client 48205').waitFor();
    expect(await seriousFindings(page)).toEqual([]);
    await go('/sinks');
    await page.getByRole('button', { name: 'Pause…' }).first().click();
    await page.getByRole('dialog').waitFor();
    expect(await seriousFindings(page)).toEqual([]);
  });
});

test('nobody is kept out by a value or a fault of an expression', async () => {
  const context = { bypassCSP: true };
  const { page, go, operations } = await openReader(browser, {
    refreshMs: 60_000,
    world: aSmallWorld(),
    context,
  });
  await page.addInitScript({ path: AXE });
  await go('/playground');
  await page.getByLabel('Expression').fill('lead.client_nam');
  await page.getByRole('button', { name: 'Evaluate' }).click();
  await page.getByRole('heading', { name: 'Value' }).waitFor();
  expect(await seriousFindings(page)).toEqual([]);
  operations.tried = {
    kind: 'fault',
    message: 'there is no field client_nam',
    hint: 'did you mean "client_name"?',
    place: { start: 5, end: 15 },
  };
  await page.getByRole('button', { name: 'Evaluate' }).click();
  await page.locator('mark').waitFor();
  expect(await seriousFindings(page)).toEqual([]);
});

test('on a phone no page is wider than the screen', async () => {
  const context = { viewport: { width: 360, height: 740 } };
  const { page, go } = await openReader(browser, { context });
  for (const path of everyPage) {
    await go(path);
    const wider = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    expect(wider, path).toBeLessThanOrEqual(0);
  }
  await go('/leads/main/48205');
  await page.getByRole('button', { name: 'Show what each sink gets' }).click();
  await page.getByText('POST https://crm.example.com/[secret]').waitFor();
  const wider = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  expect(wider).toBeLessThanOrEqual(0);
});

test('on a phone no label runs out of its card', async () => {
  const { page, go, operations } = await openReader(browser, {
    context: { viewport: { width: 390, height: 740 } },
  });
  operations.sinkRows = operations.sinkRows.map((sink) => ({ ...sink, problems: [] }));
  for (const path of ['/', '/sinks', '/sinks/crm']) {
    await go(path);
    const label = page.getByText('healthy, 11% of the last 100 batches failed').first();
    const [place, card] = [await label.boundingBox(), await page.locator('main').boundingBox()];
    expect((place?.x ?? 0) + (place?.width ?? 390), path).toBeLessThanOrEqual((card?.width ?? 0) - 16);
  }
});

test('a line does not break within an option of a command', async () => {
  const { page, go, operations } = await openReader(browser, {
    context: { viewport: { width: 390, height: 740 } },
  });
  const [first] = operations.problems;
  const step = `${'x'.repeat(9)} \`leadsync discard --sink picky --note TEXT\``.repeat(9);
  operations.problems = [{ ...(first as NonNullable<typeof first>), page_step: step }];
  await go('/');
  const lines = await page.evaluate(() =>
    [...document.querySelectorAll('.problems code span')].map((option) => option.getClientRects().length),
  );
  expect(lines).toEqual(Array(18).fill(1));
});

test.each([768, 1024])('at a width of %d px no page has to be moved sideways', async (width) => {
  const { page, go, operations } = await openReader(browser, {
    context: { viewport: { width, height: 800 } },
    refreshMs: 60_000,
  });
  const long =
    'The destination answered with HTTP 503 and a reason that is as long as reasons can be. '.repeat(3);
  operations.sinkRows = operations.sinkRows.map((sink) =>
    sink.state === 'held' ? { ...sink, reason: `${long}${'x'.repeat(120)}` } : sink,
  );
  for (const path of everyPage) {
    await go(path);
    const wider = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    expect(wider, path).toBeLessThanOrEqual(0);
  }
});

test('no page makes the browser complain', async () => {
  const { go, faults } = await openReader(browser);
  for (const path of everyPage.filter((path) => path !== '/leads?lead=x')) {
    await go(path);
  }
  expect(faults).toEqual([]);
});

test('the theme is chosen, and kept from page to page', async () => {
  const { page, go } = await openReader(browser, { context: { colorScheme: 'light' } });
  const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  await go('/');
  const light = await ground();
  const theme = page.getByRole('button', { name: 'Theme' });
  await theme.click();
  await theme.click();
  expect(await theme.innerText()).toBe('Theme: dark');
  const dark = await ground();
  expect(dark).not.toBe(light);
  await go('/sinks');
  expect(await ground()).toBe(dark);
});

test('everything is reached by the keyboard, beginning with the way past the menu', async () => {
  const { page, go, operations } = await openReader(browser, { refreshMs: 60_000 });
  await go('/sinks');
  await page.keyboard.press('Tab');
  expect(await focused(page)).toBe('Skip to the content');
  await page.keyboard.press('Enter');
  for (let presses = 0; (await focused(page)) !== 'Pause…'; presses++) {
    expect(presses).toBeLessThan(20);
    await page.keyboard.press('Tab');
  }
  const outline = await page.evaluate(() => getComputedStyle(document.activeElement as Element).outlineStyle);
  expect(outline).toBe('solid');
  await page.keyboard.press('Enter');
  await page.getByRole('dialog').waitFor();
  await page.keyboard.type('by keyboard');
  await page.keyboard.press('Enter');
  await page.getByText('crm is paused.').waitFor();
  expect(operations.actions).toEqual(['pause crm: by keyboard']);
});

test('each dialog is named by its own heading', async () => {
  const { page, go, operations } = await openReader(browser, { refreshMs: 60_000 });
  const open = async (button: string, name: string) => {
    await page.getByRole('button', { name: button }).first().click();
    await page.getByRole('dialog', { name }).getByRole('heading', { name }).waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'hidden' });
  };
  await go('/sinks');
  await open('Pause…', 'Pause crm?');
  const [dead] = operations.deliveryRows.filter(({ state }) => state === 'dead');
  operations.answers = [{ ...anAnswer('{"error":"no agent"}'), delivery_id: dead?.delivery_id ?? '' }];
  await go('/deliveries?state=dead');
  await open('Answer…', '1 answer to lead 48196 of main');
  operations.leadRows = [];
  await page.getByRole('button', { name: 'Answer…' }).first().click();
  await page.getByRole('dialog', { name: 'No such lead' }).getByRole('link', { name: 'Close' }).click();
  await page.getByRole('dialog').waitFor({ state: 'hidden' });
});

test('a question that was called off gives the focus back', async () => {
  const { page, go } = await openReader(browser);
  await go('/sinks');
  await page.getByRole('button', { name: 'Test…' }).first().focus();
  await page.keyboard.press('Enter');
  await page.getByRole('dialog').waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'hidden' });
  expect(await focused(page)).toBe('Test…');
});

function focused(page: Page): Promise<string | null | undefined> {
  return page.evaluate(() => document.activeElement?.textContent);
}

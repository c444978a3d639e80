import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import type { Role } from '../../../src/platform/options/role.ts';
import { Secret } from '../../../src/platform/options/secret.ts';
import { openPage, startBrowser } from '../../support/servers/browser.ts';
import { anAuditedAdmin } from '../audited-admin.ts';
import { openReader, type Reader } from './reader.ts';

let browser: Browser;
beforeAll(async () => {
  browser = await startBrowser();
});
afterAll(() => browser.close());

/** Counts what the page asks for from now on. Its icon the browser fetches for itself, some time after the page is there. */
function requestsOf(page: Page): () => number {
  let requests = 0;
  page.on('request', (request) => {
    if (new URL(request.url()).pathname.startsWith('/assets/')) return;
    requests++;
  });
  return () => requests;
}

/** Something changes that every page with sinks shows. */
function deliverMore({ operations }: Reader, delivered: number): void {
  operations.sinkRows = operations.sinkRows.map((sink) => ({ ...sink, delivered }));
}

test('a page refreshes itself', async () => {
  const reader = await openReader(browser);
  await reader.go('/sinks');
  deliverMore(reader, 77_123);
  await reader.page.getByText('77,123').first().waitFor();
  expect(reader.faults).toEqual([]);
});

test('the page redraws the chart when an hour has more leads', async () => {
  const { page, go, operations, faults } = await openReader(browser);
  await go('/');
  const picture = () =>
    page.locator('#chart canvas').evaluate((one) => (one as HTMLCanvasElement).toDataURL());
  const before = await picture();
  operations.hours = operations.hours.map((hour) => ({ ...hour, leads: hour.leads * 3 + 5 }));
  await expect.poll(picture).not.toBe(before);
  expect(await page.locator('#chart canvas').count()).toBe(1);
  expect(faults).toEqual([]);
});

test('the arrow keys and a touch show the numbers of a chart', async () => {
  const { page, go, faults } = await openReader(browser, {
    refreshMs: 60_000,
    context: { hasTouch: true, timezoneId: 'UTC' },
  });
  await go('/sinks/crm');
  const chart = page.locator('#attempts-chart');
  const tip = chart.locator('.chart-tip');
  await chart.locator('canvas').waitFor();
  expect(await tip.isVisible()).toBe(false);
  await chart.focus();
  await page.keyboard.press('End');
  await page.keyboard.press('ArrowLeft');
  expect(await tip.innerText()).toBe('21 Nov 12:32–13:32, attempts: delivered 66, refused 0, unavailable 1');
  await page.keyboard.press('Home');
  expect(await tip.innerText()).toBe('20 Nov 14:32–15:32, attempts: delivered 40, refused 3, unavailable 1');
  await page.keyboard.press('Escape');
  expect(await tip.isVisible()).toBe(false);
  const box = await page.locator('#durations-chart .u-over').boundingBox();
  if (!box) throw new Error('the chart is not drawn');
  await page.touchscreen.tap(box.x + 2, box.y + box.height / 2);
  await page.locator('#durations-chart .chart-tip').waitFor();
  expect(await page.locator('#durations-chart .chart-tip').innerText()).toBe(
    '20 Nov 14:32–15:32: p50 120 ms, p95 480 ms',
  );
  expect(faults).toEqual([]);
});

test('the tooltip of leads per hour says lead or leads', async () => {
  const { page, go, operations } = await openReader(browser, {
    refreshMs: 60_000,
    context: { timezoneId: 'UTC' },
  });
  operations.hours = operations.hours.map((hour, at, all) => ({
    ...hour,
    leads: all.length - 1 === at ? 1 : 1_200,
  }));
  await go('/');
  const chart = page.locator('#chart');
  await chart.locator('canvas').waitFor();
  await chart.focus();
  await page.keyboard.press('End');
  expect(await chart.locator('.chart-tip').innerText()).toBe('21 Nov 14:00–15:00: 1 lead');
  await page.keyboard.press('ArrowLeft');
  expect(await chart.locator('.chart-tip').innerText()).toBe('21 Nov 13:00–14:00: 1,200 leads');
});

test('a refresh keeps the selection, the focus and the scroll position', async () => {
  const reader = await openReader(browser);
  const { page, go } = reader;
  await go('/');
  const link = page.locator('#sink-warehouse').getByRole('link', { name: 'warehouse', exact: true });
  await link.focus();
  await page.evaluate(() => {
    scrollTo(0, 120);
    const heading = document.querySelector('h1');
    if (heading) getSelection()?.selectAllChildren(heading);
  });
  const kept = () =>
    page.evaluate(() => [document.activeElement?.textContent, scrollY, getSelection()?.toString()]);
  const before = await kept();
  expect(before).toEqual(['warehouse', 120, expect.stringContaining('2 critical problems')]);
  deliverMore(reader, 88_456);
  await page.getByText('88,456').first().waitFor();
  expect(await kept()).toEqual(before);
});

test('rows do not change while some are selected, and are refreshed afterwards', async () => {
  const { page, go, operations } = await openReader(browser);
  await go('/deliveries?state=dead');
  const box = page.getByRole('checkbox', { name: 'Select lead' }).first();
  await box.check();
  const asked = requestsOf(page);
  operations.deliveryRows = [];
  expect(await page.locator('.selecting').innerText()).toContain('1 selected. Updates pause');
  await page.waitForTimeout(600); // several times as long as a page waits between two questions
  expect(asked()).toBe(0);
  expect(await box.isChecked()).toBe(true);
  await box.click();
  await page.getByText('No delivery matches.').waitFor();
});

test('a box selects all rows that are shown, and keeps the focus', async () => {
  const { page, go, operations } = await openReader(browser);
  await go('/deliveries?state=dead');
  const all = page.getByRole('checkbox', { name: 'Select all rows shown' });
  await all.focus();
  operations.deliveryRows = operations.deliveryRows.map((row) => ({ ...row, attempts: 77 }));
  await page.getByText('77').first().waitFor();
  await page.keyboard.press('Space');
  await page.getByText('3 selected.').waitFor();
});

test('a hidden page sends no requests, and refreshes immediately when it is visible again', async () => {
  const reader = await openReader(browser, { refreshMs: 400 });
  const { page, go } = reader;
  await go('/sinks');
  await setHidden(page, true);
  const asked = requestsOf(page);
  deliverMore(reader, 99_789);
  await page.waitForTimeout(1_000);
  expect(asked()).toBe(0);
  await setHidden(page, false);
  await page.getByText('99,789').first().waitFor();
});

test('a refresh keeps the text that a reader is typing in a filter', async () => {
  const reader = await openReader(browser);
  const { page, go, operations } = reader;
  await go('/leads');
  await page.getByLabel('Service').fill('pain');
  operations.leadRows = operations.leadRows.slice(0, 1);
  await expect.poll(() => page.locator('tbody tr').count()).toBe(1);
  expect(await page.getByLabel('Service').inputValue()).toBe('pain');
  expect(await page.evaluate(() => document.activeElement?.id)).toBe('filter-service');
});

test('a page says that leadsync fails or does not answer, until it answers again', async () => {
  const reader = await openReader(browser);
  const { page, go, operations } = reader;
  await go('/sinks');
  operations.failure = new Error('ada@example.com');
  await page.getByText('leadsync answers with an error. This page shows the state at').waitFor();
  expect(await page.getByText('48,190').count()).toBe(1);
  expect(await page.content()).not.toContain('ada@example.com');
  operations.failure = undefined;
  await page.locator('#offline').waitFor({ state: 'hidden' });
  await page.route('**/sinks', (route) => route.abort());
  await page.getByText('leadsync does not answer. This page shows the state at').waitFor();
  await page.unroute('**/sinks');
  await page.locator('#offline').waitFor({ state: 'hidden' });
});

test('a page whose session has ended goes to the login page', async () => {
  const { page, go } = await openReader(browser);
  await go('/sinks');
  await page.route('**/sinks', (route) => route.fulfill({ status: 303, headers: { location: '/login' } }));
  await page.getByRole('button', { name: 'Log in' }).waitFor();
});

test('a page whose reader has lost the role goes to the page that gives the reason', async () => {
  let role: Role = 'admin';
  const token = new Secret('correct-horse-battery-staple');
  const { url } = await anAuditedAdmin({ tokens: () => [{ name: 'anna', role, token }] });
  const page = await openPage(browser);
  onTestFinished(() => page.context().close());
  await page.goto(`${url}/configuration`);
  await page.getByLabel('Token').fill(token.reveal());
  await page.getByRole('button', { name: 'Log in' }).click();
  await page.getByRole('heading', { name: 'Configuration' }).waitFor();
  role = 'viewer';
  // The page updates itself as soon as it is seen again.
  await setHidden(page, true);
  await setHidden(page, false);
  await page.getByRole('heading', { name: 'Forbidden' }).waitFor();
  const said = await page.locator('main').innerText();
  expect(said).toContain('This needs the role admin, and anna has the role viewer.');
  await page.getByRole('link', { name: 'To the overview' }).click();
  await page.getByRole('heading', { name: 'No problems' }).waitFor();
});

/** As if the tab was hidden or came to the front. */
function setHidden(page: Page, hidden: boolean): Promise<void> {
  return page.evaluate((value) => {
    Object.defineProperty(document, 'hidden', { configurable: true, value });
    document.dispatchEvent(new Event('visibilitychange'));
  }, hidden);
}

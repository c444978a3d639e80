import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startBrowser } from '../../support/servers/browser.ts';
import { openReader } from './reader.ts';

let browser: Browser;
beforeAll(async () => {
  browser = await startBrowser();
});
afterAll(() => browser.close());

const context = { javaScriptEnabled: false };

test('a sink is paused without scripts, after the question on a page of its own', async () => {
  const { page, go, operations } = await openReader(browser, { context });
  await go('/sinks');
  await page.locator('#sink-crm').getByRole('button', { name: 'Pause…' }).click();
  await page.getByLabel('Reason').fill('no scripts here');
  await page.getByRole('button', { name: 'Pause', exact: true }).click();
  await page.getByText('crm is paused.').waitFor();
  expect(operations.actions).toEqual(['pause crm: no scripts here']);
});

test('a lead is found and its data shown without scripts, with times in UTC', async () => {
  const { page, go } = await openReader(browser, { context });
  await go('/leads');
  await page.getByLabel('Id').fill('48196');
  await page.getByRole('button', { name: 'Show' }).click();
  await page.getByRole('link', { name: '48196' }).click();
  expect(await page.locator('.timeline time').first().innerText()).toMatch(
    /^21 Nov 2026, \d\d:\d\d:\d\d UTC$/,
  );
  await page.getByRole('button', { name: 'Show the lead’s data' }).click();
  await page.getByText('Ada Example').first().waitFor();
});

test('what each sink gets is shown, and an expression tried, without scripts', async () => {
  const { page, go, operations } = await openReader(browser, { context });
  await go('/leads/main/48196');
  await page.getByRole('button', { name: 'Show what each sink gets' }).click();
  await page.getByText('Ada Example').first().waitFor();
  expect(await page.getByRole('button', { name: 'Show the lead’s data' }).count()).toBe(1);
  await page.getByRole('link', { name: 'Try an expression on this lead' }).click();
  await page.getByLabel('Expression').fill('lead.client_name +\n  "x"');
  await page.getByRole('button', { name: 'Evaluate' }).click();
  await page.getByRole('heading', { name: 'Value' }).waitFor();
  expect(await page.getByLabel('Expression').inputValue()).toBe('lead.client_name +\n  "x"');
  expect(operations.actions).toEqual([
    'previews main 48196',
    'try "lead.client_name +\\n  \\"x\\"" on main 48196 for no sink',
  ]);
});

test('selected deliveries are retried without scripts', async () => {
  const { page, go, operations } = await openReader(browser, { context });
  await go('/deliveries?state=dead');
  await page.getByRole('checkbox', { name: 'Select lead' }).first().check();
  await page.getByRole('button', { name: 'Retry selected…' }).click();
  await page.getByRole('button', { name: 'Retry 1 selected delivery' }).click();
  await page.getByText('1 delivery is due now.').waitFor();
  expect(operations.actions).toHaveLength(1);
});

test('without a selection, the page says so, and nothing changes', async () => {
  const { page, go, operations } = await openReader(browser, { context });
  await go('/deliveries?state=dead');
  await page.getByRole('button', { name: 'Retry selected…' }).click();
  await page.getByText('Nothing was retried: no row is selected.').waitFor();
  expect(operations.actions).toEqual([]);
});

test.each(['/', '/sinks/crm'])(
  'a chart leaves no empty box without scripts on %s, and says why',
  async (path) => {
    const { page, go } = await openReader(browser, { context });
    await go(path);
    expect(await page.locator('noscript p').first().innerText()).toBe('The chart needs JavaScript.');
    expect(await page.locator('.chart').count()).toBeGreaterThan(0);
    expect(await page.locator('.chart:visible').count()).toBe(0);
  },
);

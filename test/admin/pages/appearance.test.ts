import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startBrowser } from '../../support/servers/browser.ts';
import { anAnswer } from './an-answer.ts';
import { everyPage } from './every-page.ts';
import { openReader } from './reader.ts';

let browser: Browser;
beforeAll(async () => {
  browser = await startBrowser();
});
afterAll(() => browser.close());

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

test('on a phone the order of a list can be changed, and all of its rows selected', async () => {
  const { page, go } = await openReader(browser, {
    context: { viewport: { width: 390, height: 740 } },
    refreshMs: 60_000,
  });
  await go('/deliveries?state=dead');
  await page.getByRole('checkbox', { name: 'Select all rows shown' }).check();
  await page.getByText('3 selected.').waitFor();
  await page.getByRole('link', { name: 'Owed' }).click();
  await page.waitForURL('**/deliveries?state=dead&order=oldest');
});

test('on a phone, the first screen shows the rows of a list; the filter appears on request, or if it is set', async () => {
  const { page, go } = await openReader(browser, { context: { viewport: { width: 390, height: 740 } } });
  const sink = page.getByRole('search').getByLabel('Sink');
  for (const path of ['/deliveries', '/polls']) {
    await go(path);
    const row = await page.locator('tbody tr').first().boundingBox();
    expect((row?.y ?? 740) + (row?.height ?? 0), path).toBeLessThanOrEqual(740);
  }
  await go('/deliveries');
  expect(await sink.isVisible()).toBe(false);
  await page.getByRole('link', { name: 'Filter…' }).click();
  expect(await sink.isVisible()).toBe(true);
  await go('/deliveries?sink=crm');
  expect(await sink.isVisible()).toBe(true);
});

test('a small note stands apart from the table or the tiles above it', async () => {
  const { page, go } = await openReader(browser, { refreshMs: 60_000 });
  for (const path of everyPage) {
    await go(path);
    const tight = await page.evaluate(() =>
      [...document.querySelectorAll('table + .hint, .lines + .hint, .tiles + .hint, section + .hint')]
        .filter((note) => {
          const above = note.previousElementSibling?.getBoundingClientRect().bottom ?? 0;
          return note.getBoundingClientRect().top - above < 8;
        })
        .map((note) => note.textContent),
    );
    expect(tight, path).toEqual([]);
  }
  await go('/polls');
  expect(await page.locator('section + .hint').innerText()).toContain('Without the polls that found');
  await go('/alerts');
  expect(await page.locator('table + .hint').count()).toBe(1);
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

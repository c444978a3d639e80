import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startBrowser } from '../../support/servers/browser.ts';
import { openReader } from './reader.ts';

let browser: Browser;
beforeAll(async () => {
  browser = await startBrowser();
});
afterAll(() => browser.close());

const phone = { refreshMs: 60_000, context: { viewport: { width: 390, height: 740 } } };
const desk = { refreshMs: 60_000, context: { viewport: { width: 1280, height: 800 } } };

test('the overview shows the success rate of the last hour, and the sink with the lowest one', async () => {
  const { page, go, operations } = await openReader(browser, desk);
  await go('/');
  const tile = page.locator('.tiles > div', { hasText: 'Success rate, last hour' });
  expect(await tile.locator('dd').innerText()).toMatch(/^98\.5%\s+lowest: warehouse 0%$/);
  await tile.getByRole('link', { name: 'warehouse' }).click();
  await page.waitForURL('**/sinks/warehouse?period=1h');
  await go('/');
  const cells = page.locator('#sink-crm td[data-label="Success, 1 h"]');
  expect(await cells.innerText()).toBe('98.3%');
  operations.attempts = operations.attempts.map((one) => ({
    ...one,
    refused: 0,
    unavailable: 0,
    success_rate: 1,
  }));
  await go('/');
  expect(await tile.locator('dd').innerText()).toMatch(/^100%\s+2,380 of 2,380 attempts$/);
  operations.attempts = [];
  await go('/');
  expect(await tile.locator('dd').innerText()).toMatch(/^–\s+no attempt$/);
});

test('on a phone, the overview shows of each sink what matters, and the slowest sinks until all are asked for', async () => {
  const { page, go, operations } = await openReader(browser, phone);
  const [sink, speed] = [operations.sinkRows.find(({ sink }) => sink === 'drop'), operations.speeds[0]];
  if (!sink || !speed) throw new Error('the world has sinks');
  const names = ['a', 'b', 'c', 'd', 'e', 'f'];
  const seconds = { a: 5, b: 1, c: 9, d: 2, e: 7, f: 3 } as Record<string, number>;
  const well = {
    ...sink,
    state: 'healthy' as const,
    problems: [] as string[],
    pending: 0,
    retrying: 0,
    dead: 0,
    breaker: null,
  };
  operations.sinkRows = names.map((name) => ({ ...well, oldest_owed_at: null, sink: name }));
  operations.attempts = names.map((name) => ({
    sink: name,
    delivered: 9,
    refused: 0,
    unavailable: 0,
    success_rate: 1,
  }));
  operations.speeds = names.map((name) => ({
    ...speed,
    sink: name,
    seen_to_delivered_p95_seconds: seconds[name] ?? 0,
  }));
  await go('/');
  expect(await page.locator('tr[id^="sink-"] td:visible').allInnerTexts()).toEqual(
    names.flatMap((name) => [name, 'healthy']),
  );
  const shown = () => page.locator('tr[id^="speed-"]:visible td[data-label="Sink"]').allInnerTexts();
  expect(await shown()).toEqual(['c', 'e', 'a']);
  await page.getByRole('link', { name: 'Show all 6 sinks' }).click();
  expect(await shown()).toEqual(['c', 'e', 'a', 'f', 'd', 'b']);
  expect(await page.getByRole('link', { name: 'Show all 6 sinks' }).isVisible()).toBe(false);
});

test('the button of an export and the buttons of a delivery are in the row of their text', async () => {
  const { page, go, operations } = await openReader(browser, desk);
  const isBeside = async (row: string, one: string, other: string) => {
    const boxes = [page.locator(row).locator(one).first(), page.locator(row).locator(other).last()];
    const [a, b] = await Promise.all(boxes.map((box) => box.boundingBox()));
    return (
      a !== null &&
      b !== null &&
      a !== undefined &&
      b !== undefined &&
      b.y < a.y + a.height &&
      a.y < b.y + b.height
    );
  };
  await go('/');
  for (const row of ['#export-lake', '#export-nightly', '#backup-off-site'])
    expect(await isBeside(row, 'td:last-child time', 'td:last-child button'), row).toBe(true);
  const long = 'It refused the lead (HTTP 422), because the phone number is not valid. '.repeat(3);
  operations.deliveryRows = operations.deliveryRows.map((row) => ({
    ...row,
    state: 'dead',
    has_answer: true,
    replay: true,
    reason: long,
  }));
  await go('/leads/main/48196');
  const row = 'tr[id^="delivery-crm"]';
  expect(await isBeside(row, 'button:has-text("Retry…")', 'button:has-text("Replay…")')).toBe(true);
  const event = page.locator(row).locator('td[data-label="Event"] .nowrap');
  expect(await event.evaluate((text) => text.getClientRects().length)).toBe(1);
});

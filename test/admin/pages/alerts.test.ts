import { afterEach, beforeEach, expect, test } from 'vitest';
import { type OpenPages, openPages } from './open-pages.ts';

let pages: OpenPages;
beforeEach(async () => {
  pages = await openPages();
});
afterEach(() => pages.close());

async function text(): Promise<string> {
  const html = await (await fetch(`${pages.url}/alerts`)).text();
  return html.replace(/<[^>]+>/g, ' ').replace(/\s+/g, ' ');
}

test('an alert shows who was notified and when, and when the next notice is due', async () => {
  const html = await (await fetch(`${pages.url}/alerts`)).text();
  expect(html).toContain('href="/runbook/sink-held"');
  expect(html).not.toContain('<b>the database</b>');
  const said = await text();
  expect(said).toMatch(
    /active sink held warehouse .* not yet sent to mail reminder 22 Nov 2026, 14:24:00 UTC/,
  );
  expect(said).toMatch(/new disk low leadsync .* none yet the first, once .* alerts\.when\.disk_low says/);
  expect(said).toMatch(/ops slack 0 – mail email 1 /);
});

test('without alerts, and without a destination, the page says so', async () => {
  pages.operations.alertsNow = { ...pages.operations.alertsNow, alerts: [] };
  expect(await text()).toContain('No condition for an alert holds, and none held in the last 6 hours.');
  pages.operations.alertsNow = { destinations: [], alerts: [] };
  expect(await text()).toContain('No destination is configured, so leadsync sends no alerts');
});

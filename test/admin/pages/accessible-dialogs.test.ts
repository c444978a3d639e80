import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startBrowser } from '../../support/servers/browser.ts';
import { aSmallWorld } from './a-small-world.ts';
import { anAnswer } from './an-answer.ts';
import { AXE, findings } from './axe.ts';
import { openReader } from './reader.ts';

let browser: Browser;
beforeAll(async () => {
  browser = await startBrowser();
});
afterAll(() => browser.close());

/** The pages with buttons that open a dialog, and the different labels of these buttons. */
const everyDialog: readonly (readonly [path: string, labels: readonly string[]])[] = [
  ['/', ['Try now…', 'Retry…', 'Discard…', 'Export now…', 'Resume…', 'Retry now…', 'Back up now…']],
  ['/sinks', ['Pause…', 'Test…', 'Cancel replay…', 'Retry 3 dead…', 'Try now…', 'Resume…']],
  ['/sinks/crm', ['Pause…', 'Test…', 'Cancel replay…', 'Retry 3 dead…', 'Retry…', 'Discard…', 'Answer…']],
  [
    '/deliveries',
    ['Retry selected…', 'Retry all dead…', 'Discard selected…', 'Discard all dead…', 'Answer…'],
  ],
  ['/deliveries?state=pending', ['Retry selected…', 'Retry all pending…']],
  ['/leads/main/48196', ['Retry…', 'Answer…', 'Replay…']],
  ['/configuration', ['Reload…']],
];

/** A world in which each page offers every action. */
async function openWorld() {
  const reader = await openReader(browser, {
    refreshMs: 60_000,
    world: aSmallWorld(),
    context: { bypassCSP: true },
  });
  const { page, operations } = reader;
  await page.addInitScript({ path: AXE });
  const change = { crm: { replays_pending: 4 }, drop: { state: 'paused', reason: 'moving house' } } as const;
  operations.sinkRows = operations.sinkRows.map((sink) => ({
    ...sink,
    ...(change as Record<string, object>)[sink.sink],
  }));
  const [problem] = operations.problems;
  if (problem === undefined) throw new Error('the world has no problem');
  operations.problems = [
    ...operations.problems,
    { ...problem, code: 'sink_paused', about: 'drop' },
    { ...problem, code: 'leads_retried', about: 'crm' },
  ];
  const [dead] = operations.deliveryRows.filter(({ state }) => state === 'dead');
  operations.answers = [{ ...anAnswer('{"error":"no agent"}'), delivery_id: dead?.delivery_id ?? '' }];
  return reader;
}

const OPENERS = '[hx-target="#dialog-body"]';

test.each(everyDialog)('axe finds nothing in any dialog of %s', async (path, labels) => {
  const { page, go } = await openWorld();
  await go(path);
  const select = page.getByRole('checkbox', { name: 'Select lead' }).first();
  if ((await select.count()) > 0) await select.check();
  expect([...new Set(await page.locator(OPENERS).allTextContents())]).toEqual(labels);
  for (const label of labels) {
    await page.locator(OPENERS).filter({ hasText: label }).first().click();
    await page.getByRole('dialog').locator('#ask h2').waitFor();
    expect(await findings(page, '#dialog'), label).toEqual([]);
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'hidden' });
  }
});

test('axe finds nothing in the dialog of a failure', async () => {
  const { page, go, operations } = await openWorld();
  await go('/deliveries');
  operations.leadRows = [];
  await page.getByRole('button', { name: 'Answer…' }).first().click();
  await page.getByRole('dialog', { name: 'No such lead' }).waitFor();
  expect(await findings(page, '#dialog')).toEqual([]);
});

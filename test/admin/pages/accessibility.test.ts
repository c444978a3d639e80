import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Overview } from '../../../src/admin/contract/overview.ts';
import { RequestError } from '../../../src/admin/contract/request-error.ts';
import type { Role } from '../../../src/platform/options/role.ts';
import { startBrowser } from '../../support/servers/browser.ts';
import { aSmallWorld, theRejected } from './a-small-world.ts';
import { AXE, findings } from './axe.ts';
import { everyPage, everyQuestion, everyState, post } from './every-page.ts';
import { openReader } from './reader.ts';

let browser: Browser;
beforeAll(async () => {
  browser = await startBrowser();
});
afterAll(() => browser.close());

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

describe('axe finds no barrier, in either theme,', () => {
  const openSmall = async (role: Role = 'admin') => {
    // The policy would not let axe in, which is no script of a page.
    const context = { bypassCSP: true };
    const reader = await openReader(browser, { refreshMs: 60_000, world: aSmallWorld(), context, role });
    await reader.page.addInitScript({ path: AXE });
    reader.operations.rejectedRows = theRejected();
    return reader;
  };

  test.each([...everyPage, ...everyState])('on the page %s', async (path) => {
    const { page, go } = await openSmall();
    await go(path);
    expect(await findings(page)).toEqual([]);
  });

  test('on a page as a viewer sees it', async () => {
    const { page, go } = await openSmall('viewer');
    for (const path of ['/', '/leads', '/deliveries', '/sinks/crm', '/polls', '/rejected']) {
      await go(path);
      expect(await findings(page), path).toEqual([]);
    }
  });

  test.each([
    ['a failure inside', new Error('broken')],
    ['a ledger that is busy', new RequestError(503, 'too-slow', 'The query took too long.', 'Try again.')],
  ])('on the page of %s', async (_, failure) => {
    const { page, go, operations } = await openSmall();
    operations.failure = failure;
    await go('/leads');
    await page.getByRole('link', { name: 'Try again' }).waitFor();
    expect(await findings(page)).toEqual([]);
  });

  test('on the overview of several machines', async () => {
    const { page, go, operations } = await openSmall();
    const at = '2026-11-21T14:31:00Z';
    const machine: Overview['machines'][number] = {
      machine: 'a-1',
      role: 'run',
      state: 'works',
      version: '1.2.3',
      config_fingerprint: '0123456789ab',
      clock_ahead_seconds: 0,
      started_at: at,
      last_seen_at: at,
      sinks: ['crm'],
      duties: ['poll:main'],
    };
    operations.machines = [machine, { ...machine, machine: 'b-2', state: 'missing', duties: [] }];
    const section = 'docs/operating.md#process-missing';
    operations.problems = [{ ...stale, code: 'process_missing', runbook: section }];
    await go('/');
    await page.getByRole('heading', { name: 'Machines' }).waitFor();
    expect(await findings(page)).toEqual([]);
  });

  test('on a page while the configuration file has faults', async () => {
    const { page, go, operations } = await openSmall();
    const faults = ['leadsync.yaml:19:5: `url` is not an address.'];
    operations.problems = [stale];
    operations.config = {
      ...operations.config,
      stale: { since: '2026-11-21T14:00:00Z', faults, failure: null },
    };
    operations.preview = { file: '/etc/leadsync.yaml', options: null, plan: [], plan_failure: null, faults };
    operations.reloadResult = { applied: false, generation: 7, faults };
    for (const path of ['/', '/configuration', '/deliveries']) {
      await go(path);
      expect(await findings(page), path).toEqual([]);
    }
    for (const fields of [{}, { sure: 'yes' }]) {
      await go('/login');
      const shown = page.waitForURL('**/configuration**');
      await page.evaluate(post, ['/configuration/reload', fields] as const);
      await shown;
      await page.getByText('is not an address').first().waitFor();
      expect(await findings(page)).toEqual([]);
    }
  });

  test('on the overview without problems, or without any content', async () => {
    const { page, go, operations } = await openSmall();
    operations.problems = [];
    operations.sinkRows = operations.sinkRows.filter(({ sink }) => sink === 'drop');
    await go('/');
    await page.getByRole('heading', { name: /^No problems/ }).waitFor();
    expect(await findings(page)).toEqual([]);
    Object.assign(operations, { sinkRows: [], sources: [], exports: [], backups: [], speeds: [], hours: [] });
    await go('/');
    expect(await findings(page)).toEqual([]);
  });

  test('on the page that a login redirects to', async () => {
    const { page, go } = await openSmall();
    await page.route('**/onward', async (route) => {
      const answer = await route.fetch();
      // Without the refresh, the page stays while axe checks it.
      const body = (await answer.text()).replace(/<meta http-equiv="refresh"[^>]*>/, '');
      await route.fulfill({ response: answer, body });
    });
    await go('/onward');
    await page.getByRole('link', { name: 'Continue' }).waitFor();
    expect(await findings(page)).toEqual([]);
  });

  test('on any confirmation that has its own page', async () => {
    const { page, go } = await openSmall();
    for (const [path, fields] of everyQuestion) {
      await go('/login');
      const answered = page.waitForResponse((response) => response.request().method() === 'POST');
      await page.evaluate(post, [path, fields] as const);
      await answered;
      await page.locator('nav[aria-label="Pages"]').waitFor();
      expect(await findings(page), path).toEqual([]);
    }
  });

  test('in a question or in a lead’s data', async () => {
    const { page, go } = await openSmall();
    await go('/leads/main/48205');
    await page.getByRole('button', { name: 'Show the lead’s data' }).click();
    await page.getByText('Ada Example').first().waitFor();
    expect(await findings(page)).toEqual([]);
    await page.getByRole('button', { name: 'Show what each sink gets' }).click();
    await page.getByText('POST https://crm.example.com/[secret]').waitFor();
    await page.locator('summary').first().click();
    expect(await findings(page)).toEqual([]);
    await go('/leads');
    await page.getByLabel('Name, email address or phone number').fill('482');
    await page.getByRole('button', { name: 'Find' }).click();
    await page.getByText('Client 48205').waitFor();
    expect(await findings(page)).toEqual([]);
    await go('/sinks');
    await page.getByRole('button', { name: 'Pause…' }).first().click();
    await page.getByRole('dialog').waitFor();
    expect(await findings(page)).toEqual([]);
  });
});

test('axe finds no barrier in the value or a fault of an expression', async () => {
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
  expect(await findings(page)).toEqual([]);
  operations.tried = {
    kind: 'fault',
    message: 'there is no field client_nam',
    hint: 'did you mean "client_name"?',
    place: { start: 5, end: 15 },
  };
  await page.getByRole('button', { name: 'Evaluate' }).click();
  await page.locator('mark').waitFor();
  expect(await findings(page)).toEqual([]);
});

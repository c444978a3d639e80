import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { openPage, startBrowser, watchFaults } from '../../support/servers/browser.ts';
import { anOidcAdmin, aRoles } from '../oidc-admin.ts';
import { AXE, findings } from './axe.ts';

let browser: Browser;
beforeAll(async () => {
  browser = await startBrowser();
});
afterAll(() => browser.close());

/** A browser in which leadsync and the provider are two sites, so that it holds back cookies that are `SameSite=Strict`. */
async function aReader({ javaScriptEnabled = true, bypassCSP = false } = {}) {
  const admin = await anOidcAdmin();
  const page = await openPage(browser, { javaScriptEnabled, bypassCSP });
  onTestFinished(() => page.context().close());
  const url = admin.url.replace('127.0.0.1', 'localhost');
  admin.now.publicUrl = url;
  const seen = watchFaults(page);
  const faults = () => seen.filter((fault) => !fault.startsWith(`asked for ${url}/`));
  return { ...admin, url, page, faults };
}

test.each([true, false])(
  'a person logs in at the provider, acts under their own name, and logs out; scripts: %s',
  async (javaScriptEnabled) => {
    const { page, url, stub, entries, faults } = await aReader({ javaScriptEnabled });
    await page.goto(`${url}/sinks?from=a-bookmark`);
    await page.getByRole('link', { name: 'Log in with Acme' }).click();
    await page.waitForURL(`${stub.issuer}/authorize**`);
    await page.getByRole('link', { name: 'I am Anna' }).click();
    await page.waitForURL(`${url}/sinks?from=a-bookmark`);
    expect(await page.locator('.reader').textContent()).toBe('anna@example.com');

    await page.getByRole('button', { name: 'Pause…' }).click();
    await page.getByLabel('Reason').fill('moving house');
    await page.getByRole('button', { name: 'Pause', exact: true }).click();
    await page.getByText('crm is paused.').waitFor();
    expect(entries.at(-1)).toMatchObject({
      who: 'anna@example.com',
      via: 'oidc',
      what: 'pause',
      sink: 'crm',
    });

    await page.getByRole('button', { name: 'Log out' }).click();
    await page.waitForURL(`${stub.issuer}/logout**`);
    await page.getByRole('link', { name: 'Back to the application' }).click();
    await page.waitForURL(`${url}/login`);
    await page.goto(`${url}/sinks`);
    await page.waitForURL(`${url}/login**`);
    expect(faults()).toEqual([]);
  },
);

test('a person without a role gets a page that says so, is not redirected in a loop, and can log out at the provider', async () => {
  const { page, url, stub, now, faults } = await aReader();
  now.roles = aRoles({ 'bob@example.com': 'admin' });
  await page.goto(`${url}/`);
  await page.getByRole('link', { name: 'Log in with Acme' }).click();
  await page.getByRole('link', { name: 'I am Anna' }).click();
  await page.getByRole('heading', { name: 'You have no role yet' }).waitFor();
  expect(await page.locator('main').innerText()).toContain('You are logged in as anna@example.com');
  await page.getByRole('button', { name: 'Log out' }).click();
  await page.waitForURL(`${stub.issuer}/logout**`);
  expect(faults()).toEqual([expect.stringContaining('403')]);
});

test('a person who cancels returns to the login page, which says so and offers both ways to log in', async () => {
  const { page, url } = await aReader();
  await page.goto(`${url}/`);
  await page.getByRole('link', { name: 'Log in with Acme' }).click();
  await page.getByRole('link', { name: 'Cancel' }).click();
  await page.getByRole('alert').getByText('you cancelled the login').waitFor();
  await page.getByText('Log in with a token').click();
  await page.getByLabel('Token').fill('correct-horse-battery-staple');
  await page.getByRole('button', { name: 'Log in' }).click();
  await page.waitForURL(`${url}/`);
  expect(await page.locator('.reader').textContent()).toBe('admin');
});

test('axe finds no barrier on the login page with an error, or on the page for a person without a role', async () => {
  const { page, url, now } = await aReader({ bypassCSP: true });
  await page.addInitScript({ path: AXE });
  await page.goto(`${url}/`);
  await page.getByRole('link', { name: 'Log in with Acme' }).waitFor();
  expect(await findings(page)).toEqual([]);
  await page.getByRole('link', { name: 'Log in with Acme' }).click();
  await page.getByRole('link', { name: 'Cancel' }).click();
  await page.getByRole('alert').getByText('you cancelled the login').waitFor();
  await page.getByText('Log in with a token').click();
  expect(await findings(page)).toEqual([]);
  now.roles = aRoles({ 'bob@example.com': 'admin' });
  await page.getByRole('link', { name: 'Log in with Acme' }).click();
  await page.getByRole('link', { name: 'I am Anna' }).click();
  await page.getByRole('heading', { name: 'You have no role yet' }).waitFor();
  expect(await findings(page)).toEqual([]);
});

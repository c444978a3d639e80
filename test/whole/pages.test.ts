import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { startStub } from '../stub/stub.ts';
import { tempDir } from '../support/files/temp-dir.ts';
import { startDaemon, writeConfig } from '../support/program/leadsync.ts';
import { canaryLead, expectNoCanary } from '../support/scene/canary.ts';
import { SECRET } from '../support/scene/scene.ts';
import { openPage, startBrowser, watchFaults } from '../support/servers/browser.ts';
import { startWebhookReceiver } from '../support/servers/webhook-receiver.ts';
import { until } from '../support/time/until.ts';

const TOKEN = 'correct-horse-battery-staple';

/** Builds a lead whose personal texts are canaries; its service slug is not one, because pages show it. */
function aStranger(id: number): string {
  return JSON.stringify({ ...JSON.parse(canaryLead(id)), service_slug: 'cleaning' });
}

/** Starts a leadsync with a token, three leads, and a webhook that refuses the second lead until it is fixed. */
async function aRunningLeadsync() {
  const [stub, receiver, folder] = [await startStub(), await startWebhookReceiver(), tempDir()];
  for (const id of [1, 2, 3]) stub.addRaw(aStranger(id));
  const refused = new Set([2]);
  receiver.answerAlways(({ body }, res) => {
    const { id, client_name } = JSON.parse(String(body)).data;
    if (refused.has(id)) res.writeHead(422).end(`no agent for ${client_name}`);
    else res.writeHead(204).end();
  });
  const configured = await writeConfig(folder, {
    sources: {
      main: {
        base_url: stub.url,
        client_id: 'demo-client',
        client_secret: 'demo-secret',
        poll: { every: '1s' },
      },
    },
    sinks: { crm: { type: 'webhook', url: receiver.url, secret: SECRET } },
  });
  const yaml = readFileSync(configured.configFile, 'utf8');
  writeFileSync(
    configured.configFile,
    yaml.replace(/listen: .*/, (line) => `${line}\n  token: \${TOKEN}`),
  );
  const daemon = await startDaemon(configured.configFile, configured.adminUrl, { env: { TOKEN } });
  const browser = await startBrowser();
  onTestFinished(async () => {
    await browser.close();
    await daemon.kill();
    await stub.close();
    await receiver.close();
  });
  const page = await openPage(browser);
  return { ...configured, refused, page };
}

test('a user logs in, finds the refused lead, reads it, and sends it once the cause is fixed', async () => {
  const { page, adminUrl, dataDir, refused } = await aRunningLeadsync();
  const faults = watchFaults(page);
  await page.goto(`${adminUrl}/deliveries?state=dead`);
  await page.getByLabel('Token').fill('guessed-wrong-by-somebody');
  await page.getByRole('button', { name: 'Log in' }).click();
  await page.getByText('This token is wrong.').waitFor();
  expect(faults.splice(0)).toEqual([expect.stringContaining('401')]);
  await page.getByLabel('Token').fill(TOKEN);
  await page.getByRole('button', { name: 'Log in' }).click();
  await page.waitForURL('**/deliveries?state=dead');

  // Without a manual refresh: the lead dies while the page is open.
  await page.getByRole('row', { name: 'refused the lead (HTTP 422)' }).waitFor();
  await page.getByRole('link', { name: '2', exact: true }).click();
  await page.getByText('First listed').waitFor();
  expectNoCanary(await page.content());
  await page.getByRole('button', { name: 'Show the lead’s data' }).click();
  await page.getByRole('link', { name: 'Hide' }).waitFor();
  const { client_name } = JSON.parse(aStranger(2));
  expect(await page.locator('#content').innerText()).toContain(`no agent for ${client_name}`);
  const audit = readFileSync(join(dataDir, 'audit.jsonl'), 'utf8');
  expect(audit).toMatch(/"who":"admin","via":"session".*"what":"reveal","source":"main","lead":"2"/);
  expectNoCanary(audit);

  refused.clear();
  await page.getByRole('button', { name: 'Retry…' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Retry' }).click();
  await page.getByText('The delivery is due now.').waitFor();
  await page.locator('td .badge', { hasText: 'delivered' }).waitFor();
  await page.goto(adminUrl);
  await page.getByRole('heading', { name: 'No problems' }).waitFor();
  expectNoCanary(await page.content());
  await page.getByRole('button', { name: 'Log out' }).click();
  await page.getByLabel('Token').waitFor();
  expect(faults).toEqual([]);
});

test('a form on another site changes nothing, even for a logged-in user', async () => {
  const { page, adminUrl } = await aRunningLeadsync();
  await page.goto(`${adminUrl}/sinks`);
  await page.getByLabel('Token').fill(TOKEN);
  await page.getByRole('button', { name: 'Log in' }).click();
  await until('its sink is shown', async () => (await page.locator('#sink-crm').count()) > 0);
  const before = await page.locator('#sink-crm .badge').innerText();
  await page.goto(
    'data:text/html,<form method="post"><input name="sure" value="yes"><input name="reason" value="x"></form>',
  );
  await page.evaluate((action) => {
    const form = document.forms[0];
    if (form) Object.assign(form, { action }).submit();
  }, `${adminUrl}/sinks/crm/pause`);
  await page.waitForURL('**/sinks/crm/pause');
  expect(await page.locator('body').innerText()).not.toContain('paused');
  await page.goto(`${adminUrl}/sinks`);
  expect(await page.locator('#sink-crm .badge').innerText()).toBe(before);
  expect(before).not.toContain('paused');
});

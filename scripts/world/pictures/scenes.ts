import type { Page } from 'playwright-core';
import type { ReaderName } from './camera.ts';

/** A page to take a picture of. */
export interface Scene {
  readonly page: string;
  readonly address: string;
  readonly reader?: ReaderName;
  readonly act?: (page: Page) => Promise<unknown>;
}

/** Leads and deliveries that some pages are about. */
export interface Examples {
  /** `/leads/north/7` of a lead that `picky` has refused, or of any. */
  readonly lead: string;
}

/** Returns every page that shows leadsync's state. */
export function everyPage({ lead }: Examples): readonly Scene[] {
  return [
    { page: 'overview', address: '/' },
    { page: 'leads', address: '/leads' },
    { page: 'lead', address: lead },
    { page: 'deliveries', address: '/deliveries' },
    { page: 'deliveries-dead', address: '/deliveries?state=dead' },
    { page: 'deliveries-pending', address: '/deliveries?state=pending' },
    { page: 'deliveries-reasons', address: '/deliveries/reasons' },
    { page: 'sinks', address: '/sinks' },
    { page: 'sink-picky', address: '/sinks/picky' },
    { page: 'sink-flaky', address: '/sinks/flaky' },
    { page: 'sink-outage', address: '/sinks/outage' },
    { page: 'polls', address: '/polls' },
    { page: 'log', address: '/log' },
    { page: 'rejected', address: '/rejected' },
    { page: 'alerts', address: '/alerts' },
    { page: 'playground', address: '/playground' },
    { page: 'configuration', address: '/configuration' },
    { page: 'audit', address: '/audit' },
  ];
}

/** Returns the pages of a leadsync that has not read a listing yet. */
export function emptyPages(): readonly Scene[] {
  return ['', 'leads', 'deliveries', 'sinks', 'sinks/steady', 'polls', 'rejected', 'audit', 'playground'].map(
    (path) => ({ page: path === '' ? 'overview' : path.replace('/', '-'), address: `/${path}` }),
  );
}

/** Returns the pages of readers who may not see or do everything, and those of an error. */
export function pagesByReader({ lead }: Examples): readonly Scene[] {
  const paths = ['/', lead, '/deliveries?state=dead', '/sinks/picky', '/configuration', '/audit'];
  const names = ['overview', 'lead', 'deliveries-dead', 'sink-picky', 'configuration', 'audit'];
  const of = (reader: ReaderName) =>
    paths.map((address, at): Scene => ({ page: `${names[at]}-as-${reader}`, address, reader }));
  return [
    ...of('vera'),
    ...of('otto'),
    { page: 'no-such-page', address: '/nothing' },
    { page: 'no-such-lead', address: '/leads/north/999999' },
    { page: 'no-such-sink', address: '/sinks/nothing' },
    { page: 'leads-none-match', address: '/leads?source=north&lead=999999' },
    { page: 'wrong-filter', address: '/leads?lead=x' },
  ];
}

/** Returns every dialog that asks, and every page that reveals something. Confirms nothing. */
export function dialogs({ lead }: Examples): readonly Scene[] {
  return [
    asks('pause', '/sinks/steady', 'Pause…'),
    asks('try-now', '/sinks/outage', 'Try now…'),
    asks('test', '/sinks/steady', 'Test…'),
    asks('retry-dead', '/sinks/picky', /^Retry .*dead…/),
    asks('retry-all', '/deliveries?state=dead', /^Retry all/),
    asks('discard-all', '/deliveries?state=dead', /^Discard all/),
    {
      page: 'ask-discard-selected',
      address: '/deliveries?sink=picky&state=dead',
      act: async (page) => {
        await page.getByRole('checkbox').nth(1).check();
        await page.getByRole('button', { name: 'Discard selected…' }).click();
        await page.locator('#dialog[open]').waitFor();
      },
    },
    asks('answer', '/deliveries?state=dead', 'Answer…'),
    asks('replay-lead', lead, 'Replay…'),
    { page: 'replay', address: '/replay?sink=picky&which=all' },
    { page: 'runbook', address: '/runbook' },
    { page: 'runbook-section', address: '/runbook/sink-held' },
    asks('export', '/', 'Export now…'),
    asks('back-up', '/', 'Back up now…'),
    asks('retry-delivery', lead, 'Retry…'),
    presses('lead-revealed', lead, 'Show the lead’s data', 'Hide'),
    presses('lead-previews', lead, 'Show what each sink gets', 'Hide'),
    presses('sink-request', '/sinks/picky', 'Show request and answer', 'Hide'),
    {
      page: 'find-person',
      address: '/leads',
      act: async (page) => {
        await page.getByLabel('Name, email address or phone number').fill('ana');
        await page.getByRole('button', { name: 'Find' }).click();
        await page.waitForURL('**/leads/find');
      },
    },
    {
      page: 'playground-fault',
      address: '/playground',
      act: async (page) => {
        await page.getByLabel('Expression').fill('name(lead.client_name).frist');
        await page.getByRole('button', { name: 'Evaluate' }).click();
        await page.locator('#result').waitFor();
      },
    },
  ];
}

/** Returns the scene in which a button has opened its dialog. */
export function asks(what: string, address: string, button: string | RegExp): Scene {
  return {
    page: `ask-${what}`,
    address,
    act: async (page) => {
      await page.getByRole('button', { name: button }).first().click();
      await page.locator('#dialog[open]').waitFor();
    },
  };
}

function presses(name: string, address: string, button: string, then: string): Scene {
  return {
    page: name,
    address,
    act: async (page) => {
      await page.getByRole('button', { name: button }).first().click();
      await page.getByRole('link', { name: then }).first().waitFor();
      await page.getByRole('link', { name: then }).first().scrollIntoViewIfNeeded();
    },
  };
}

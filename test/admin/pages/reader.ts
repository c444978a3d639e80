import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { onTestFinished } from 'vitest';
import { type OpenPages, openPages } from './open-pages.ts';

/** Somebody who reads the pages in a browser of their own. */
export interface Reader extends OpenPages {
  readonly page: Page;
  /** What went wrong in the browser: errors of scripts, of the policy and of loading, and scripts that spoke up. */
  readonly faults: string[];
  go(path: string): Promise<void>;
}

/** Opens pages and a browser's window for one test. */
export async function openReader(
  browser: Browser,
  { context, ...more }: Parameters<typeof openPages>[0] & { context?: BrowserContextOptions } = {},
): Promise<Reader> {
  const pages = await openPages({ refreshMs: 150, ...more });
  const window = await browser.newContext({ timezoneId: 'Australia/Sydney', ...context });
  const page = await window.newPage();
  page.setDefaultTimeout(5_000);
  const faults = watched(page);
  onTestFinished(async () => {
    await window.close();
    await pages.close();
  });
  const go = async (path: string) => void (await page.goto(`${pages.url}${path}`));
  return { ...pages, page, faults, go };
}

function watched(page: Page): string[] {
  const faults: string[] = [];
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') faults.push(message.text());
  });
  page.on('pageerror', (error) => faults.push(`${error}`));
  page.on('dialog', (dialog) => {
    faults.push(`a script spoke up: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on('request', (request) => {
    if (!request.url().startsWith('http://127.0.0.1:')) faults.push(`asked for ${request.url()}`);
  });
  return faults;
}

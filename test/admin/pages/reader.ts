import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { onTestFinished } from 'vitest';
import { openPage, watchFaults } from '../../support/servers/browser.ts';
import { type OpenPages, openPages } from './open-pages.ts';

/** A reader of the pages, with a browser of their own. */
export interface Reader extends OpenPages {
  readonly page: Page;
  /** Errors in the browser: of scripts, of the content security policy and of loading, and messages that scripts logged. */
  readonly faults: string[];
  go(path: string): Promise<void>;
}

/** Opens pages and a browser's window for one test. */
export async function openReader(
  browser: Browser,
  { context, ...more }: Parameters<typeof openPages>[0] & { context?: BrowserContextOptions } = {},
): Promise<Reader> {
  const pages = await openPages({ refreshMs: 150, ...more });
  const page = await openPage(browser, { timezoneId: 'Australia/Sydney', ...context });
  const faults = watchFaults(page);
  onTestFinished(async () => {
    await page.context().close();
    await pages.close();
  });
  const go = async (path: string) => void (await page.goto(`${pages.url}${path}`));
  return { ...pages, page, faults, go };
}

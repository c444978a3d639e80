import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { firstExecutable } from './server-process.ts';

/** Returns the path of Chromium: the one that CHROMIUM names, else the system's. Undefined if there is none. */
export function findChromium(): string | undefined {
  const named = process.env['CHROMIUM'];
  if (named) return named;
  const folders = ['/usr/bin', '/usr/local/bin', '/snap/bin', '/Applications/Chromium.app/Contents/MacOS'];
  return firstExecutable('chromium', folders) ?? firstExecutable('Chromium', folders);
}

/** Starts a headless browser. @throws Error if there is none */
export function startBrowser(): Promise<Browser> {
  const executablePath = findChromium();
  if (executablePath === undefined) throw new Error('Chromium is not installed: `npm test` installs it.');
  // Its sandbox needs user namespaces, which containers and root lack; it opens only our own pages.
  return chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] });
}

/** What a page has not done within this time, it never does, however busy the machine is. */
const HANGS_MS = 300_000;

/** Opens a page in its own session. */
export async function openPage(browser: Browser, options: BrowserContextOptions = {}): Promise<Page> {
  const page = await browser.newPage(options);
  page.setDefaultTimeout(HANGS_MS);
  return page;
}

/** Collects a page's problems: script errors, policy violations, failed loads, dialogs, and requests to other addresses. */
export function watchFaults(page: Page): string[] {
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

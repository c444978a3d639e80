import type { Browser, Page } from 'playwright-core';
import type { Opened } from '../../../test/support/program/tool.ts';
import { openPage, startBrowser } from '../../../test/support/servers/browser.ts';
import type { Tokens } from '../introduction.ts';
import type { Album, Subject } from './album.ts';

/** A person who looks at the pages. A stranger has no token; a member has none either, and logs in at the OpenID provider. */
export type ReaderName = Exclude<keyof Tokens, 'cli'> | 'stranger' | 'member';

/** The theme and the width of a picture. */
export type Look = Pick<Subject, 'theme' | 'width'>;

/** Every look. */
export const EVERY_LOOK: readonly Look[] = [
  { theme: 'light', width: 'wide' },
  { theme: 'dark', width: 'wide' },
  { theme: 'light', width: 'phone' },
  { theme: 'dark', width: 'phone' },
];

const VIEWPORTS = { wide: { width: 1280, height: 900 }, phone: { width: 390, height: 844 } } as const;
/** A page that has not come to rest by then, or a button that is not there, is left out. */
const PATIENCE_MS = 20_000;

/** A browser that takes pictures of the pages for an album. */
export class Camera {
  readonly #browser: Browser;
  readonly #adminUrl: string;
  readonly #tokens: Tokens;
  readonly #album: Album;
  readonly #readers = new Map<ReaderName, Promise<Page>>();

  private constructor(browser: Browser, adminUrl: string, tokens: Tokens, album: Album) {
    this.#browser = browser;
    this.#adminUrl = adminUrl;
    this.#tokens = tokens;
    this.#album = album;
  }

  /** Starts the browser. */
  static async start(opened: Opened, adminUrl: string, tokens: Tokens, album: Album): Promise<Camera> {
    const browser = await opened.add(startBrowser, (one) => one.close());
    return new Camera(browser, adminUrl, tokens, album);
  }

  /** Takes a picture of the whole page. `act` does something on it first, such as opening a dialog. */
  async take(
    shot: {
      readonly page: string;
      readonly state: string;
      readonly address: string;
      readonly reader: ReaderName;
      readonly act?: ((page: Page) => Promise<unknown>) | undefined;
    },
    look: Look,
  ): Promise<void> {
    const { act, ...about } = shot;
    const page = await this.#pageOf(shot.reader);
    await page.emulateMedia({ colorScheme: look.theme });
    await page.setViewportSize(VIEWPORTS[look.width]);
    await page.goto(`${this.#adminUrl}${shot.address}`, { waitUntil: 'load' });
    await page.evaluate('document.fonts.ready.then(() => undefined)');
    await act?.(page);
    // A dialog lies above the window, not above the whole page.
    await page.screenshot({
      path: this.#album.add({ ...about, ...look }),
      fullPage: act === undefined,
      animations: 'disabled',
    });
  }

  #pageOf(reader: ReaderName): Promise<Page> {
    const known = this.#readers.get(reader);
    if (known !== undefined) return known;
    const opening = this.#open(reader);
    this.#readers.set(reader, opening);
    return opening;
  }

  async #open(reader: ReaderName): Promise<Page> {
    const page = await openPage(this.#browser);
    page.setDefaultTimeout(PATIENCE_MS);
    if (reader === 'stranger' || reader === 'member') return page;
    await page.goto(`${this.#adminUrl}/login`);
    await page.getByText('Log in with a token').click();
    await page.getByLabel('Token').fill(this.#tokens[reader]);
    await page.getByRole('button', { name: 'Log in' }).click();
    await page.waitForURL(`${this.#adminUrl}/`);
    return page;
  }
}

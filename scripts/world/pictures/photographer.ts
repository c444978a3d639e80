import type { OidcStub } from '../../../test/stub/oidc/oidc-stub.ts';
import type { Opened } from '../../../test/support/program/tool.ts';
import type { Tokens } from '../introduction.ts';
import type { Journal } from '../journal.ts';
import type { Ask } from '../problem-watch.ts';
import type { Trouble } from '../timetable.ts';
import { Album } from './album.ts';
import { Camera, EVERY_LOOK, type Look } from './camera.ts';
import { loginScenes } from './login-scenes.ts';
import { pagesOf } from './problem-scenes.ts';
import { dialogs, type Examples, emptyPages, everyPage, pagesByReader, type Scene } from './scenes.ts';

const TWO_LOOKS: readonly Look[] = [
  { theme: 'light', width: 'wide' },
  { theme: 'dark', width: 'phone' },
];

/** Takes pictures of the pages at the moments that matter. */
export class Photographer {
  readonly #camera: Camera;
  readonly #album: Album;
  readonly #ask: Ask;
  readonly #journal: Journal;
  readonly #provider: OidcStub;

  private constructor(
    camera: Camera,
    album: Album,
    parts: { ask: Ask; journal: Journal; provider: OidcStub },
  ) {
    this.#camera = camera;
    this.#album = album;
    this.#ask = parts.ask;
    this.#journal = parts.journal;
    this.#provider = parts.provider;
  }

  /** Starts a browser for pictures in a folder. */
  static async start(
    opened: Opened,
    parts: {
      folder: string;
      adminUrl: string;
      tokens: Tokens;
      provider: OidcStub;
      ask: Ask;
      journal: Journal;
    },
  ): Promise<Photographer> {
    const album = new Album(parts.folder);
    const camera = await Camera.start(opened, parts.adminUrl, parts.tokens, album);
    return new Photographer(camera, album, parts);
  }

  /** leadsync has not read a listing yet. */
  nothingYet(): Promise<void> {
    return this.#take('nothing-yet', emptyPages(), TWO_LOOKS);
  }

  /** There is no problem. */
  async allWell(): Promise<void> {
    await this.#take('all-well', everyPage(await this.#examples()), EVERY_LOOK);
  }

  /** leadsync has just begun to report a problem. */
  reported(trouble: Trouble): Promise<void> {
    const about = trouble.about === null ? '' : `-${trouble.about}`;
    const state = `${trouble.code.replaceAll('_', '-')}${about}`;
    return this.#take(state, pagesOf(trouble), TWO_LOOKS);
  }

  /** Several problems at the same time: every page, every dialog, and what other readers see. */
  async manyProblems(): Promise<void> {
    const examples = await this.#examples();
    const state = `${wordOf(await this.#problems())}-problems`;
    await this.#take(state, everyPage(examples), EVERY_LOOK);
    await this.#take(state, dialogs(examples), TWO_LOOKS);
    await this.#take(state, pagesByReader(examples), TWO_LOOKS);
    await this.#take(state, loginScenes(this.#provider), TWO_LOOKS);
  }

  async #take(state: string, scenes: readonly Scene[], looks: readonly Look[]): Promise<void> {
    const before = this.#album.size;
    for (const { reader = 'anna', ...scene } of scenes)
      for (const look of looks) {
        await this.#camera.take({ ...scene, state, reader }, look).catch((error: Error) => {
          this.#journal.note('picture', `${scene.page}: ${error.message.split('\n')[0]}`);
        });
      }
    this.#album.writeIndex();
    this.#journal.note('picture', `${state}: ${this.#album.size - before} pictures`);
  }

  async #examples(): Promise<Examples> {
    const of = async (filter: string) => {
      const { rows } = (await this.#ask('GET', `/deliveries?limit=1${filter}`)) as {
        rows: { source: string; lead_id: string }[];
      };
      return rows[0];
    };
    const row = (await of('&sink=picky&state=dead')) ?? (await of(''));
    return { lead: row === undefined ? '/leads' : `/leads/${row.source}/${row.lead_id}` };
  }

  async #problems(): Promise<number> {
    const { problems } = (await this.#ask('GET', '/overview')) as { readonly problems: readonly unknown[] };
    return problems.length;
  }
}

const NUMBERS = ['no', 'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten'];

function wordOf(count: number): string {
  return NUMBERS[count] ?? String(count);
}

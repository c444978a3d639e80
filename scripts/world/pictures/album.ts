import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** What a picture shows. */
export interface Subject {
  /** The page, such as `overview`. */
  readonly page: string;
  /** The state, such as `three-problems`. */
  readonly state: string;
  readonly theme: 'light' | 'dark';
  readonly width: 'wide' | 'phone';
  /** The address of the page, without its host. */
  readonly address: string;
  readonly reader: string;
}

/** A folder of pictures, and the page that shows them all. */
export class Album {
  readonly #folder: string;
  readonly #subjects: Subject[] = [];

  constructor(folder: string) {
    this.#folder = folder;
    mkdirSync(folder, { recursive: true });
  }

  /** Adds a picture to the index. Returns the file to write it to. */
  add(subject: Subject): string {
    this.#subjects.push(subject);
    return join(this.#folder, fileOf(subject));
  }

  get size(): number {
    return this.#subjects.length;
  }

  /** Writes index.html, which shows every picture under its state. */
  writeIndex(): void {
    const states = Map.groupBy(this.#subjects, ({ state }) => state);
    const sections = [...states].map(([state, subjects]) => {
      return `<h2 id="${state}">${words(state)}</h2>\n<div>${subjects.map(figure).join('\n')}</div>`;
    });
    const links = [...states.keys()].map((state) => `<a href="#${state}">${words(state)}</a>`);
    writeFileSync(
      join(this.#folder, 'index.html'),
      `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>The pages of leadsync in a world that fails</title>
<style>
body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem; color-scheme: light dark }
nav { display: flex; flex-wrap: wrap; gap: 0.25rem 1rem }
div { display: flex; flex-wrap: wrap; gap: 1.5rem; align-items: flex-start }
figure { margin: 0; max-width: 26rem }
img { width: 100%; border: 1px solid #8888; display: block }
.phone { max-width: 11rem }
figcaption { font-size: 0.875rem; overflow-wrap: anywhere }
</style>
<h1>The pages of leadsync in a world that fails</h1>
<p>${this.#subjects.length} pictures. Click one for its full size.</p>
<nav>${links.join('\n')}</nav>
${sections.join('\n')}
</html>
`,
    );
  }
}

function fileOf({ page, state, theme, width }: Subject): string {
  return `${page}-${state}-${theme}-${width}.png`;
}

function figure(subject: Subject): string {
  const { page, theme, width, address, reader } = subject;
  const file = fileOf(subject);
  return `<figure class="${width}"><a href="${file}"><img loading="lazy" src="${file}" alt=""></a><figcaption><b>${words(page)}</b>, ${theme}, ${width}, as ${reader}<br><code>${address.replaceAll('&', '&amp;')}</code></figcaption></figure>`;
}

function words(name: string): string {
  return name.replaceAll('-', ' ');
}

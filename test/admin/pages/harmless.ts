import type { Page } from 'playwright-core';
import { expect } from 'vitest';

/** What a page would be broken out of by: markup, ends of attributes and of elements, our own attributes. */
export const breakouts = [
  '"><script>alert(1)</script>',
  "'><img src=x onerror=alert(1)>",
  '</textarea></title></style></script><script>alert(1)</script>',
  '" autofocus onfocus="alert(1)" x="',
  '<div hx-get="/leads" hx-trigger="load">',
  '"]<hx-partial hx-target="body"><b>owned</b></hx-partial>',
  '--><svg onload=alert(1)>',
  '<template hx type="partial" hx-target="#main">owned</template>',
  'javascript:alert(1)',
  '&lt;script&gt;',
  '<base href="//example.com">',
];

/** What no page may hold, stated apart from how the code does it: from and to. */
const UNSEEN = [
  ...[
    [0x00, 0x08],
    [0x0b, 0x1f],
    [0x7f, 0x9f],
    [0xfeff, 0xfeff],
  ], // controls but tab and line feed, the byte order mark
  ...[
    [0x202a, 0x202e],
    [0x2066, 0x2069],
    [0x200e, 0x200f],
    [0x61c, 0x61c],
    [0x2028, 0x2029],
  ], // directions, lines
] as const;

function isUnseen(character: string): boolean {
  const code = character.charCodeAt(0);
  return UNSEEN.some(([from = 0, to = 0]) => code >= from && code <= to);
}

export const everyUnseen = UNSEEN.flatMap(([from = 0, to = 0]) =>
  Array.from({ length: to - from + 1 }, (_, at) => String.fromCharCode(from + at)),
);

/** No script ran or was stopped by the policy, nothing was loaded, and no element is there that we have not put there. */
export async function expectHarmless(page: Page, faults: readonly string[], where: string): Promise<void> {
  const strange = await page.evaluate(() => {
    const known = ['htmx', 'theme', 'pages', 'chart', 'uplot'];
    const scripts = [...document.scripts].filter(
      ({ src }) => !known.some((name) => src.includes(`/assets/${name}-`)),
    );
    const others = document.querySelectorAll(
      'img, iframe, object, embed, svg, style, base, video, audio, marquee',
    );
    const handlers = [...document.querySelectorAll('*')].filter((element) =>
      element.getAttributeNames().some((name) => name.startsWith('on')),
    );
    const links = [...document.querySelectorAll('a')].filter(({ protocol }) => protocol !== 'http:');
    return [...scripts, ...others, ...handlers, ...links].map((element) => element.outerHTML.slice(0, 200));
  });
  const written = await page.evaluate(() => {
    const attributes = [...document.querySelectorAll('*')].flatMap((element) =>
      [...element.attributes].filter(({ name }) => name !== 'value'),
    );
    return [document.documentElement.textContent, ...attributes.map(({ value }) => value)].join('');
  });
  const unseen = everyUnseen.filter((character) => written.includes(character)).map(escapeOf);
  expect({ strange, faults, unseen }, where).toEqual({ strange: [], faults: [], unseen: [] });
}

/** Which of the texts a page does not show whole, as HTML can hold them. */
export async function missing(page: Page, expected: readonly string[]): Promise<string[]> {
  const shown = await page.evaluate(() => document.querySelector('main')?.textContent ?? '');
  return expected.filter((text) => !bare(shown).includes(bare(asHtml(text))));
}

/** In sentences of leadsync's own, what is to be typed is set apart by more than backticks. */
function bare(text: string): string {
  return text.replaceAll('`', '');
}

/** HTML has whole characters alone, and leadsync escapes what a reader could not see. */
function asHtml(text: string): string {
  return [...text.toWellFormed().replaceAll('\r\n', '\n')].map(shownAs).join('').trim();
}

function shownAs(character: string): string {
  return isUnseen(character) ? escapeOf(character) : character;
}

function escapeOf(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

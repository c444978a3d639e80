import { readFileSync } from 'node:fs';
import { Marked, type Token } from 'marked';
import type { RunbookSection } from '../../src/admin/pages/parts/runbook-section.ts';
import { escapeHtml } from '../../src/platform/text/html-escape.ts';

/** Returns the sections of docs/operating.md as JSON, for the runbook of the pages. */
export function runbook(): string {
  const manual = readFileSync(new URL('../../docs/operating.md', import.meta.url), 'utf8');
  return `${JSON.stringify(runbookSections(manual), null, 2)}\n`;
}

/**
 * Returns a section for each heading of a manual in Markdown. HTML in the manual stays text, and a link to a file that the pages do not have
 * becomes text that names the file.
 */
export function runbookSections(manual: string): readonly RunbookSection[] {
  const parts: { title: string; depth: number; tokens: Token[] }[] = [];
  for (const token of new Marked().lexer(manual)) {
    if (token.type === 'heading') parts.push({ title: token['text'], depth: token['depth'], tokens: [] });
    else parts.at(-1)?.tokens.push(token);
  }
  const marked = markedFor(new Set(parts.map(({ title }) => anchorOf(title))));
  return parts.map(({ title, depth, tokens }) => ({
    id: anchorOf(title),
    depth,
    title,
    html: marked.parser(tokens),
  }));
}

/** Returns a parser whose tables and code look like those of the pages, and whose links lead to sections of the runbook. */
function markedFor(anchors: ReadonlySet<string>): Marked {
  return new Marked({
    renderer: {
      html: ({ text }) => escapeHtml(text),
      image: ({ text }) => escapeHtml(text),
      code: ({ text }) => `<pre tabindex="0"><code>${escapeHtml(text)}</code></pre>\n`,
      link({ href, tokens }) {
        const text = this.parser.parseInline(tokens);
        const [file = '', anchor = ''] = href.split('#');
        if (file === '' && anchors.has(anchor)) return `<a href="/runbook/${anchor}">${text}</a>`;
        const place = file === '' ? href : pathOf(file);
        const name = `<code>${escapeHtml(place)}</code>`;
        return place.endsWith(text) ? name : `${text} (${name})`;
      },
      table({ header, rows }) {
        const cellsOf = (row: typeof header) => row.map(({ tokens }) => this.parser.parseInline(tokens));
        const heads = cellsOf(header).map((head) => `<th scope="col">${head}</th>`);
        const lines = rows.map((row) => {
          const cells = cellsOf(row).map(
            (cell, at) =>
              `<td class="text" data-label="${escapeHtml(header[at]?.text ?? '')}"><div>${cell}</div></td>`,
          );
          return `<tr>${cells.join('')}</tr>\n`;
        });
        return `<table>\n<thead><tr>${heads.join('')}</tr></thead>\n<tbody>\n${lines.join('')}</tbody>\n</table>\n`;
      },
    },
  });
}

/** Returns the path, in the project, of a file that a page in docs/ links to, or an address as it is. */
function pathOf(file: string): string {
  const { protocol, pathname, href } = new URL(file, 'file:///docs/');
  return protocol === 'file:' ? pathname.slice(1) : href;
}

/** Returns the anchor that GitHub gives a heading. */
function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\w\- ]/g, '')
    .replaceAll(' ', '-');
}

import { readFileSync } from 'node:fs';
import { html } from 'htm/preact';
import type { VNode } from 'preact';
import { runbookAddress } from './parts/addresses.ts';
import { asset } from './parts/assets.ts';
import type { Content } from './parts/content.ts';
import type { RunbookSection } from './parts/runbook-section.ts';
import { type AddPage, paramOf } from './parts/site.ts';

/**
 * Adds the runbook: a list of the sections of the operating manual, and a page for each section. A problem and its notices link to the section
 * about it.
 */
export const addRunbook: AddPage = (app, site) => {
  const sections: readonly RunbookSection[] = JSON.parse(
    readFileSync(new URL(asset('runbook.json')), 'utf8'),
  );
  const options = { config: { operation: 'overview' } } as const;
  app.get('/runbook', options, (request, reply) =>
    site.show(request, reply, { title: 'Runbook', still: contents(sections) }),
  );
  app.get('/runbook/:section', options, (request, reply) => {
    const at = sections.findIndex(({ id }) => id === paramOf(request, 'section'));
    const section = sections[at];
    if (section === undefined)
      return site.fail(request, reply, {
        title: 'No such section',
        what: 'The runbook has no section of this name.',
        next: 'Open /runbook for its sections.',
        status: 404,
      });
    const above = html`<p class="hint"><a href="/runbook">All sections of the runbook</a></p>`;
    const still = manual(html`${text(section)}${below(sections, at).map(titled)}`);
    return site.show(request, reply, { title: section.title, above, still });
  });
};

function contents(sections: readonly RunbookSection[]): VNode {
  const [first, ...others] = sections;
  return manual(html`
    <ul class="sections">${others.map(
      ({ id, title, depth }) =>
        html`<li class=${`level-${depth}`}><a href=${runbookAddress(`#${id}`)}>${title}</a></li>`,
    )}</ul>
    ${first && html`<section>${text(first)}</section>`}`);
}

/** Returns the subsections of the section at an index. */
function below(sections: readonly RunbookSection[], at: number): readonly RunbookSection[] {
  const depth = sections[at]?.depth ?? 0;
  const later = sections.slice(at + 1);
  const end = later.findIndex((one) => one.depth <= depth);
  return end === -1 ? later : later.slice(0, end);
}

function titled(section: RunbookSection): VNode {
  return html`<section id=${section.id}><h2>${section.title}</h2>${text(section)}</section>`;
}

/** Shows the text of a section. Its HTML was generated from the manual and contains no raw HTML from it. */
function text({ html: __html }: RunbookSection): VNode {
  return html`<div dangerouslySetInnerHTML=${{ __html }}></div>`;
}

function manual(content: Content): VNode {
  return html`<article class="manual">${content}</article>`;
}

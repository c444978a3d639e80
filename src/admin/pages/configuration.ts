import { html } from 'htm/preact';
import type { VNode } from 'preact';
import type { Configuration } from '../contract/model.ts';
import type { ReloadResult } from '../contract/operations.ts';
import { confirmButton } from './parts/confirmation.ts';
import type { Content } from './parts/content.ts';
import { markup } from './parts/markup.ts';
import { ago } from './parts/moment.ts';
import type { Notice } from './parts/notice.ts';
import { type AddPage, fieldsOf } from './parts/site.ts';
import { table } from './parts/table.ts';

/** The page of the configuration in force: what leadsync goes by, and where each value comes from. */
export const addConfiguration: AddPage = (app, site) => {
  app.get('/configuration', async (request, reply) => {
    const configuration = await site.operations.configuration();
    return site.show(request, reply, {
      title: 'Configuration',
      name: 'Configuration',
      live: body(configuration, new Date()),
    });
  });
  app.post('/configuration/reload', async (request, reply) => {
    if (fieldsOf(request).has('sure'))
      return site.done(reply, '/configuration', told(await site.operations.reload()));
    return site.confirm(request, reply, {
      title: 'Reload the configuration',
      question: 'Put the present text of the configuration in force?',
      consequences: markup(site.asTyped(CONSEQUENCES)),
      confirmLabel: 'Reload',
      back: '/configuration',
    });
  });
};

const CONSEQUENCES =
  'What is under way ends under the old one. A text with faults changes nothing. `leadsync plan` says beforehand what it would do.';

function body({ generation, loaded_at, stale, values }: Configuration, now: Date): Content {
  return [
    stale && staleNotice(stale, now),
    html`<dl class="facts">
      <div><dt>Generation</dt><dd>${generation}</dd></div>
      <div><dt>In force since</dt><dd>${ago(loaded_at, now)}</dd></div>
      <div><dt>The file</dt><dd>${stale ? 'has faults' : 'is in force'}</dd></div>
    </dl>`,
    confirmButton('/configuration/reload', 'Reload…'),
    html`<section><h2>Values in force</h2>${table({
      name: 'Values in force',
      columns: [
        { label: 'Option', of: ({ path }) => html`<code>${path}</code>`, text: true },
        { label: 'Value', of: ({ value }) => html`<bdi>${value}</bdi>`, text: true },
        { label: 'From', of: ({ origin }) => html`<span class="origin">${origin}</span>`, text: true },
      ],
      rows: values,
      key: ({ path }) => `value-${path}`,
      empty: 'No value is known.',
    })}</section>`,
  ];
}

function staleNotice({ since, faults }: NonNullable<Configuration['stale']>, now: Date): VNode {
  return html`<div class="notice bad">
    <p>The file was changed ${ago(since, now)} and has faults: what was in force before still is. Mend the file and reload it.</p>
    <ul>${faults.map((fault) => html`<li><code><bdi>${fault}</bdi></code></li>`)}</ul>
  </div>`;
}

function told(result: ReloadResult): Notice {
  const { applied, generation } = result;
  if (!applied) {
    const text = `Nothing has changed: the text has faults, and generation ${generation} stays in force.`;
    return { kind: 'bad', text, lines: linesOf(result['faults']) };
  }
  const restart = linesOf(result['restart']).map((option) => `${option} takes effect with the next restart.`);
  const lines = [...linesOf(result['changes']), ...restart];
  const text =
    lines.length > 0
      ? `Generation ${generation} is in force.`
      : 'Nothing has changed: the text is the one in force.';
  return { kind: 'good', text, lines };
}

function linesOf(value: unknown): string[] {
  return Array.isArray(value) ? value.map(String) : [];
}

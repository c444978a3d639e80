import { html } from 'htm/preact';
import type { VNode } from 'preact';
import type { Configuration, ReloadPreview } from '../contract/configuration.ts';
import type { ReloadResult } from '../contract/operations.ts';
import { may } from '../contract/rights.ts';
import { confirmButton } from './parts/confirmation.ts';
import type { Content } from './parts/content.ts';
import { markup } from './parts/markup.ts';
import { ago } from './parts/moment.ts';
import type { Notice } from './parts/notice.ts';
import { type AddPage, fieldsOf } from './parts/site.ts';
import { table } from './parts/table.ts';

/** Adds the page of the configuration in force, with the origin of each value. */
export const addConfiguration: AddPage = (app, site) => {
  app.get('/configuration', { config: { operation: 'configuration' } }, async (request, reply) => {
    const configuration = await site.operations.configuration();
    return site.show(request, reply, {
      title: 'Configuration',
      name: 'Configuration',
      live: body(configuration, new Date()),
    });
  });
  app.post('/configuration/reload', { config: { operation: 'reload' } }, async (request, reply) => {
    if (fieldsOf(request).has('sure'))
      return site.done(reply, '/configuration', reloadNotice(await site.operations.reload()));
    return site.confirm(request, reply, {
      title: 'Reload the configuration',
      question: 'Reload the configuration file?',
      consequences: [
        changes(await site.operations.previewReload()),
        html`<p>${markup(site.rewriteCommands(CONSEQUENCES))}</p>`,
      ],
      confirmLabel: 'Reload',
      back: '/configuration',
    });
  });
};

const CONSEQUENCES =
  'Work in progress finishes under the old configuration. `leadsync plan` also shows how many leads a changed sink would get.';

/** Returns what the reload would change. */
function changes({ options, faults }: ReloadPreview): Content {
  if (options === null)
    return html`<p>The file has faults, so a reload changes nothing:</p>
      <ul>${faults.map((fault) => html`<li><code><bdi>${fault}</bdi></code></li>`)}</ul>`;
  if (options.length === 0) return html`<p>The file has the values that are in force.</p>`;
  return html`<ul>${options.map(
    ({ path, before, after, restart }) => html`<li>
      <code>${path}</code>: <bdi>${before ?? 'not set'}</bdi> → <bdi>${after ?? 'not set'}</bdi>
      ${before === after && ' (changed)'}${restart && ', at the next restart'}
    </li>`,
  )}</ul>`;
}

function body({ generation, loaded_at, stale, values }: Configuration, now: Date): Content {
  return [
    stale && staleNotice(stale, now),
    html`<dl class="facts">
      <div><dt>Generation</dt><dd>${generation}</dd></div>
      <div><dt>In force since</dt><dd>${ago(loaded_at, now)}</dd></div>
      <div><dt>File</dt><dd>${stale ? 'has faults' : 'in force'}</dd></div>
    </dl>`,
    may('reload') && confirmButton('/configuration/reload', 'Reload…'),
    html`<section><h2>Values in force</h2>${table({
      name: 'Values in force',
      columns: [
        { label: 'Option', of: ({ path }) => html`<code>${path}</code>`, text: true },
        { label: 'Value', of: ({ value }) => html`<bdi>${value}</bdi>`, text: true },
        { label: 'From', of: ({ origin }) => html`<span class="origin">${origin}</span>`, text: true },
      ],
      rows: values,
      key: ({ path }) => `value-${path}`,
      empty: 'There are no values.',
    })}</section>`,
  ];
}

function staleNotice({ since, faults }: NonNullable<Configuration['stale']>, now: Date): VNode {
  return html`<div class="notice bad">
    <p>The file was changed ${ago(since, now)} and has faults, so the previous configuration stays in force. Fix the file and reload it.</p>
    <ul>${faults.map((fault) => html`<li><code><bdi>${fault}</bdi></code></li>`)}</ul>
  </div>`;
}

function reloadNotice(result: ReloadResult): Notice {
  const { applied, generation } = result;
  if (!applied) {
    const text = `Nothing has changed: the file has faults, and generation ${generation} stays in force.`;
    return { kind: 'bad', text, lines: linesOf(result['faults']) };
  }
  const restart = linesOf(result['restart']).map((option) => `${option} takes effect at the next restart.`);
  const lines = [...linesOf(result['changes']), ...restart];
  const text =
    lines.length > 0
      ? `Generation ${generation} is in force.`
      : 'Nothing has changed: the file is already in force.';
  return { kind: 'good', text, lines };
}

function linesOf(value: unknown): string[] {
  return Array.isArray(value) ? value.map(String) : [];
}

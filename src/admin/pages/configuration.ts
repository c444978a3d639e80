import { html } from 'htm/preact';
import type { VNode } from 'preact';
import { countOf } from '../../platform/text/human-readable.ts';
import type { Configuration, ReloadPreview } from '../contract/configuration.ts';
import type { ReloadResult } from '../contract/operations.ts';
import { may } from '../contract/rights.ts';
import { confirmButton } from './parts/confirmation.ts';
import type { Content } from './parts/content.ts';
import { formattedText } from './parts/formatted-text.ts';
import { withLineBreaks } from './parts/line-breaks.ts';
import type { Notice } from './parts/notice.ts';
import { type AddPage, fieldsOf, type Site } from './parts/site.ts';
import { table } from './parts/table.ts';
import { ago, moment } from './parts/time-element.ts';

/** Adds the page that shows the configuration in force, with the origin of each value. Offers a reload if the file differs. */
export const addConfiguration: AddPage = (app, site) => {
  app.get('/configuration', { config: { operation: 'configuration' } }, async (request, reply) => {
    const { operations } = site;
    const [configuration, preview] = await Promise.all([
      operations.configuration(),
      operations.previewReload(),
    ]);
    return site.show(request, reply, {
      title: 'Configuration',
      name: 'Configuration',
      live: body(configuration, preview, new Date()),
    });
  });
  app.post('/configuration/reload', { config: { operation: 'reload' } }, async (request, reply) => {
    if (fieldsOf(request).has('sure'))
      return site.done(reply, '/configuration', reloadNotice(await site.operations.reload()));
    const title = 'Reload the configuration';
    const preview = await site.operations.previewReload(true);
    const listed = changes(preview, site.rewriteCommands);
    if (preview.options === null)
      return site.confirm(request, reply, {
        title,
        question: 'The configuration file has faults',
        consequences: listed,
        back: '/configuration',
      });
    return site.confirm(request, reply, {
      title,
      question: 'Reload the configuration file?',
      consequences: [listed, html`<p>${formattedText(site.rewriteCommands(CONSEQUENCES))}</p>`],
      confirmLabel: 'Reload',
      back: '/configuration',
    });
  });
};

const CONSEQUENCES =
  'Work in progress finishes under the old configuration. `leadsync plan` also tries a changed mapping on the last leads.';

/** Returns the list of what the reload would change: the options, and the effects on sources, sinks and exports. */
function changes(
  { options, plan, plan_failure: unknown, faults }: ReloadPreview,
  rewriteCommands: Site['rewriteCommands'],
): Content {
  if (options === null)
    return html`<p>The previous configuration stays in force until you have fixed them:</p>
      <ul>${faults.map((fault) => html`<li><code><bdi>${fault}</bdi></code></li>`)}</ul>`;
  if (options.length === 0) return html`<p>The values in the file are those in force.</p>`;
  return html`<ul>${options.map(
    ({ path, before, after, restart }) => html`<li>
      <code>${path}</code>: <bdi>${before ?? 'not set'}</bdi> → <bdi>${after ?? 'not set'}</bdi>
      ${before === after && ' (changed)'}${restart && ', at the next restart'}
    </li>`,
  )}</ul>
    ${
      plan.length > 0 &&
      html`<p>This means:</p>
        <ul>${plan.map((line) => html`<li><bdi>${formattedText(rewriteCommands(line))}</bdi></li>`)}</ul>`
    }
    ${unknown !== null && html`<p>How many leads this concerns is unknown: <bdi>${formattedText(rewriteCommands(unknown))}</bdi></p>`}`;
}

function body(
  { generation, loaded_at, stale, values }: Configuration,
  { options }: ReloadPreview,
  now: Date,
): Content {
  const isInForce = stale === null && options?.length === 0;
  return [
    stale && staleNotice(stale, now),
    html`<dl class="facts">
      <div><dt>Generation</dt><dd>${generation}</dd></div>
      <div><dt>In force since</dt><dd>${moment(loaded_at)} <small>${ago(loaded_at, now)}</small></dd></div>
      <div><dt>File</dt><dd>${fileState(isInForce, options, stale)}</dd></div>
    </dl>`,
    may('reload') &&
      (isInForce
        ? html`<p class="hint">The file is in force, so there is nothing to reload.</p>`
        : confirmButton('/configuration/reload', 'Reload…', { primary: true })),
    bySection(values).map(([section, of]) => sectionOf(section, of)),
  ];
}

function fileState(
  isInForce: boolean,
  options: ReloadPreview['options'],
  stale: Configuration['stale'],
): string {
  if (isInForce) return 'in force';
  if (options?.length === 0 && stale && stale.failure !== null) return 'not applied';
  return options === null || options.length === 0
    ? 'has faults'
    : `${countOf(options.length, 'option')} changed and not yet in force`;
}

type Values = Configuration['values'];

/** The sections of the file whose entries have names. */
const NAMED = ['sources', 'sinks', 'exports', 'backups'];
/** Heading of the options that belong to no section. */
const GENERAL = 'General';

/** Returns the values by section, in their original order. Each source, sink, export and backup has its own section. */
function bySection(values: Values): [section: string, values: Values][] {
  return [...Map.groupBy(values, ({ path }) => headingOf(path))];
}

function headingOf(path: string): string {
  const [first = '', second, ...more] = path.split('.');
  if (second === undefined) return GENERAL;
  return NAMED.includes(first) && more.length > 0 ? `${first}.${second}` : first;
}

/** Returns a section: first the values that are set, then the defaults, which are collapsed. */
function sectionOf(section: string, values: Values): VNode {
  const isDefault = ({ origin }: Values[number]) => origin === 'default';
  const [set, defaults] = [values.filter((value) => !isDefault(value)), values.filter(isDefault)];
  return html`<section id=${`section-${section}`}>
    <h2>${section}</h2>
    ${set.length > 0 && valueTable(`Values of ${section}`, set)}
    ${
      defaults.length > 0 &&
      html`<details id=${`defaults-${section}`}><summary>${countOf(defaults.length, 'default')}</summary>
        ${valueTable(`Defaults of ${section}`, defaults)}</details>`
    }
  </section>`;
}

function valueTable(name: string, rows: Values): VNode {
  return table({
    name,
    columns: [
      { label: 'Option', of: ({ path }) => html`<code>${path}</code>`, text: true },
      { label: 'Value', of: ({ value }) => html`<bdi>${withLineBreaks(value)}</bdi>`, text: true },
      {
        label: 'From',
        of: ({ origin }) => html`<span class="origin">${withLineBreaks(origin)}</span>`,
        text: true,
      },
    ],
    rows,
    key: ({ path }) => `value-${path}`,
    empty: null,
  });
}

function staleNotice({ since, faults, failure }: NonNullable<Configuration['stale']>, now: Date): VNode {
  if (failure !== null)
    return html`<div class="notice bad">
      <p>The file is valid, but leadsync could not apply it ${ago(since, now)}, so the previous configuration stays in force: <bdi>${failure}</bdi> Reload it once the cause is fixed.</p>
    </div>`;
  return html`<div class="notice bad">
    <p>The file was changed ${ago(since, now)} and has faults, so the previous configuration stays in force. Fix the file and reload it.</p>
    <ul>${faults.map((fault) => html`<li><code><bdi>${fault}</bdi></code></li>`)}</ul>
  </div>`;
}

function reloadNotice(result: ReloadResult): Notice {
  const { applied, generation } = result;
  if (typeof result['failure'] === 'string') {
    const text = `The file is valid, but leadsync could not apply it; generation ${generation} stays in force.`;
    return { kind: 'bad', text, lines: [result['failure']] };
  }
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

import { html } from 'htm/preact';
import type { VNode } from 'preact';
import { countOf } from '../../../platform/text/format.ts';
import type { Overview } from '../../contract/model.ts';
import type { AssetName } from './assets.ts';
import type { Content } from './content.ts';
import { markup } from './markup.ts';
import type { Notice } from './notice.ts';

const pages = [
  ['Overview', '/'],
  ['Leads', '/leads'],
  ['Deliveries', '/deliveries'],
  ['Sinks', '/sinks'],
  ['Polls', '/polls'],
  ['Configuration', '/configuration'],
] as const;

/** A page that the menu names. */
export type PageName = (typeof pages)[number][0];

/** What a page shows. */
export interface Page {
  readonly title: string;
  readonly name?: PageName;
  /** What keeps itself up to date while it is looked at. */
  readonly live?: Content;
  /** What stays as it is until the reader goes on: forms, and what was asked for. */
  readonly above?: Content;
  readonly still?: Content;
  /** The address that the live part is asked for again at; that of the request when absent. */
  readonly address?: string;
  readonly chart?: boolean;
  /** The live part begins with a heading of its own. */
  readonly ownHeading?: boolean;
  readonly status?: number;
}

/**
 * What stands around a page, as of one request. At `address` the live part is asked for again; a `signedIn` reader can
 * log out.
 */
export interface Frame {
  readonly assetAddress: (name: AssetName) => string;
  readonly refreshMs: number;
  readonly signedIn: boolean;
  readonly troubles: Overview['troubles'];
  readonly address: string;
  readonly notice: Notice | undefined;
}

type State = 'well' | 'warning' | 'critical';

/** A whole document around a page. */
export function layout(page: Page, frame: Frame): VNode {
  const state = stateOf(frame.troubles);
  return html`<html lang="en">
    ${head(titleOf(page, frame), frame.assetAddress, state, page.chart)}
    <body>
      <a class="skip" href="#main">Skip to the content</a>
      ${header(page, frame)}
      <p id="offline" class="notice bad" role="alert" hidden></p>
      <main id="main" tabindex="-1">
        ${frame.notice && noticeFor(frame.notice)}
        ${!page.ownHeading && html`<h1>${page.title}</h1>`}
        ${page.above}
        <div id="live" ...${page.live === undefined ? {} : liveAttributes(frame)}>
          ${stateLine(page, frame, state)}
          ${page.live}
        </div>
        ${page.still}
      </main>
      <dialog id="dialog" aria-label="Please confirm"><div id="dialog-body"></div></dialog>
    </body>
  </html>`;
}

/** The head of every document, the one of the login too. */
export function head(
  title: string,
  assetAddress: Frame['assetAddress'],
  state: State,
  chart: boolean | undefined,
): VNode {
  return html`<head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <meta name="color-scheme" content="light dark" />
    <meta name="htmx-config" content=${HTMX} />
    <title>${title}</title>
    <link id="icon" rel="icon" type="image/svg+xml" href=${assetAddress(`${state}.svg`)} />
    ${chart && html`<link rel="stylesheet" href=${assetAddress('uplot.css')} />`}
    <link rel="stylesheet" href=${assetAddress('pages.css')} />
    <script src=${assetAddress('theme.js')}></script>
    <script defer src=${assetAddress('htmx.js')}></script>
    ${chart && html`<script defer src=${assetAddress('uplot.js')}></script><script defer src=${assetAddress('chart.js')}></script>`}
    <script defer src=${assetAddress('pages.js')}></script>
  </head>`;
}

const HTMX = JSON.stringify({ includeIndicatorCSS: false, history: false, defaultTimeout: 10_000 });

function titleOf({ title }: Page, { troubles }: Frame): string {
  const state = troubles.length === 0 ? [] : [countOf(troubles.length, 'trouble')];
  return [...state, title, 'leadsync'].join(' · ');
}

function stateOf(troubles: Overview['troubles']): State {
  if (troubles.some(({ severity }) => severity === 'critical')) return 'critical';
  return troubles.length > 0 ? 'warning' : 'well';
}

function header({ name }: Page, { signedIn }: Frame): VNode {
  return html`<header>
    <a class="brand" href="/">leadsync</a>
    <nav aria-label="Pages">${pages.map(
      ([label, address]) =>
        html`<a href=${address} aria-current=${label === name ? 'page' : undefined}>${label}</a>`,
    )}</nav>
    <div class="tools">
      <button id="theme" type="button" class="quiet" hidden></button>
      ${signedIn && html`<form method="post" action="/logout"><button class="quiet">Log out</button></form>`}
    </div>
  </header>`;
}

/** How leadsync is, on every page but the one that says it at length; a script draws the icon from it. */
function stateLine({ name }: Page, { troubles, assetAddress }: Frame, state: State): VNode {
  const said = name === 'Overview' || state === 'well';
  return html`<p id="state" class="state" data-state=${state} data-icon=${assetAddress(`${state}.svg`)} hidden=${said}>
    ${!said && html`<a href="/">${countOf(troubles.length, 'trouble')}</a> ${markup(troubles[0]?.what ?? '')}`}
  </p>`;
}

/** What htmx asks for again; an answer that is an error leaves what is there. */
function liveAttributes({ address, refreshMs }: Frame): Record<string, string> {
  return {
    'hx-get': address,
    'hx-trigger': `every ${refreshMs}ms, shown`,
    'hx-select': '#live',
    'hx-target': '#live',
    'hx-swap': 'outerMorph',
    'hx-sync': 'drop',
    'hx-status:4xx': 'swap:none',
    'hx-status:5xx': 'swap:none',
  };
}

function noticeFor({ kind, text, lines = [] }: Notice): VNode {
  return html`<div class=${`notice ${kind}`} role=${kind === 'bad' ? 'alert' : 'status'}>
    <p>${markup(text)}</p>
    ${lines.length > 0 && html`<ul>${lines.map((line) => html`<li>${line}</li>`)}</ul>`}
  </div>`;
}

import { html } from 'htm/preact';
import type { VNode } from 'preact';
import { countOf, printCount } from '../../../platform/text/human-readable.ts';
import type { Actor } from '../../contract/actor.ts';
import type { Overview } from '../../contract/overview.ts';
import { isAllowed } from '../../contract/rights.ts';
import type { AssetName } from './assets.ts';
import type { Content } from './content.ts';
import { formattedText } from './formatted-text.ts';
import type { Notice } from './notice.ts';
import { problemId } from './problem-id.ts';

/** The menu: the name and the address of each page, and the operation that its reader must be allowed to run. */
export const MENU = [
  ['Overview', '/', 'overview'],
  ['Leads', '/leads', 'leads'],
  ['Deliveries', '/deliveries', 'deliveries'],
  ['Sinks', '/sinks', 'sinks'],
  ['Polls', '/polls', 'polls'],
  ['Alerts', '/alerts', 'alerts'],
  ['Log', '/log', 'log'],
  ['Rejected', '/rejected', 'rejected'],
  ['Playground', '/playground', 'tryExpression'],
  ['Configuration', '/configuration', 'configuration'],
  ['Audit', '/audit', 'audit'],
] as const;

/** Name of a page in the menu. */
export type PageName = (typeof MENU)[number][0];

/** Content of a page. */
export interface Page {
  readonly title: string;
  readonly name?: PageName;
  /** Content that updates itself while the page is visible. */
  readonly live?: Content;
  /** Content above the live part that does not update, such as a filter form. */
  readonly above?: Content;
  /** Content below the live part that does not update. */
  readonly still?: Content;
  /** Address from which the live part is updated. Defaults to the address of the request. */
  readonly address?: string;
  readonly chart?: boolean;
  /** The source or sink that the page shows. The line of problems begins with its problems. */
  readonly about?: string;
  /** The code of the problem that the page shows. The line of problems begins with it, after those of `about`. */
  readonly problem?: string | undefined;
  /** Whether the live part contains the heading. */
  readonly ownHeading?: boolean;
  readonly status?: number;
}

/**
 * What surrounds the content of a page, for one request. The browser updates the live part from `address`, every `refreshMs`. The header shows
 * the name of the `reader`, and a button to log out if there is a session.
 */
export interface Frame {
  readonly assetAddress: (name: AssetName) => string;
  readonly refreshMs: number;
  readonly reader: Actor | undefined;
  /** The name of the installation. */
  readonly installation: string | undefined;
  readonly problems: Overview['problems'];
  readonly address: string;
  readonly notice: Notice | undefined;
}

type State = 'well' | 'warning' | 'critical';

/** Returns the complete document of a page. */
export function layout(page: Page, frame: Frame): VNode {
  const state = stateOf(frame.problems);
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
      ${frame.reader && html`<footer><a href="/runbook">Runbook</a></footer>`}
      <dialog id="dialog" aria-labelledby="ask-heading"><div id="dialog-body"></div></dialog>
    </body>
  </html>`;
}

/** Returns the head of a document. With `onward`, the browser opens that address immediately. */
export function head(
  title: string,
  assetAddress: Frame['assetAddress'],
  state: State,
  chart: boolean | undefined,
  onward?: string,
): VNode {
  return html`<head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <meta name="color-scheme" content="light dark" />
    <meta name="htmx-config" content=${HTMX} />
    ${onward && html`<meta http-equiv="refresh" content=${`0;url=${onward}`} />`}
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

const HTMX = JSON.stringify({
  includeIndicatorCSS: false,
  history: false,
  defaultTimeout: 10_000,
  // A live update does not close the details that the reader has opened.
  morphIgnore: ['data-htmx-powered', 'open'],
});

function titleOf({ title }: Page, { problems, installation }: Frame): string {
  const state = problems.length === 0 ? [] : [countOf(problems.length, 'problem')];
  return [...state, title, brandOf(installation)].join(' · ');
}

function brandOf(installation: Frame['installation']): string {
  return installation === undefined ? 'leadsync' : `leadsync ${installation}`;
}

function stateOf(problems: Frame['problems']): State {
  if (problems.some(({ severity }) => severity === 'critical')) return 'critical';
  return problems.length > 0 ? 'warning' : 'well';
}

function header({ name }: Page, { reader, installation }: Frame): VNode {
  const shown = MENU.filter(([, , operation]) => isAllowed(reader, operation));
  return html`<header>
    <a class="brand" href="/">${brandOf(installation)}</a>
    <nav aria-label="Pages">${shown.map(
      ([label, address]) =>
        html`<a href=${address} aria-current=${label === name ? 'page' : undefined}>${label}</a>`,
    )}</nav>
    <div class="tools">
      <button id="theme" type="button" class="quiet" hidden></button>
      ${reader && reader.via !== 'loopback' && html`<span class="reader" title=${`role ${reader.role}`}>${reader.who}</span>`}
      ${(reader?.via === 'session' || reader?.via === 'oidc') && html`<form method="post" action="/logout"><button class="quiet">Log out</button></form>`}
    </div>
  </header>`;
}

/** Maximum number of problems that the line of problems names, apart from the first. */
const MAX_NAMED = 5;

/**
 * Returns a line with the number of problems by severity, one of them in full, and what the others are about. Each is a link to its row on the
 * overview. The line is hidden if there are no problems, and on the overview, which lists them all. A script sets the page's icon from the line.
 */
function stateLine(page: Page, { problems, assetAddress }: Frame, state: State): VNode {
  const hidden = page.name === 'Overview' || state === 'well';
  return html`<p id="state" class="state" data-state=${state} data-icon=${assetAddress(`${state}.svg`)} hidden=${hidden}>
    ${!hidden && problemLine(problems, page)}
  </p>`;
}

/** Returns the line's text. The first problem is one of what the page shows, if it has any, and otherwise one of the most severe. */
function problemLine(problems: Frame['problems'], { about, problem: code }: Page): Content {
  const critical = problems.filter(({ severity }) => severity === 'critical');
  const warnings = problems.filter(({ severity }) => severity === 'warning');
  const counts = [
    critical.length > 0 && `${printCount(critical.length)} critical`,
    warnings.length > 0 && countOf(warnings.length, 'warning'),
  ];
  const bySeverity = [...critical, ...warnings];
  const isOwn = (problem: Problem) => problem.about !== null && problem.about === about;
  const rank = (problem: Problem) => (isOwn(problem) ? 0 : 2) + (problem.code === code ? 0 : 1);
  const [first, ...others] = bySeverity.toSorted((one, other) => rank(one) - rank(other));
  const more = others.length - MAX_NAMED;
  const named = others
    .slice(0, MAX_NAMED)
    .map((one, index) => [index > 0 && ', ', problemLink(one, shortName(one))]);
  return html`<strong>${counts.filter(Boolean).join(', ')}:</strong> ${first && problemLink(first, formattedText(first.message))}${
    others.length > 0 && html` <small>Also: ${named}${more > 0 && ` and ${more} more`}</small>`
  }`;
}

type Problem = Frame['problems'][number];

function problemLink(problem: Problem, text: Content): VNode {
  return html`<a href=${`/#${problemId(problem)}`}>${text}</a>`;
}

/** Returns the subject of a problem, and its code in words: `crm (sink held)`. */
function shortName({ about, code }: Problem): string {
  const words = code.replaceAll('_', ' ');
  return about === null ? words : `${about} (${words})`;
}

/** Returns the attributes with which htmx updates the live part. An error response leaves the part unchanged. */
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
    <p>${formattedText(text)}</p>
    ${lines.length > 0 && html`<ul>${lines.map((line) => html`<li>${line}</li>`)}</ul>`}
  </div>`;
}

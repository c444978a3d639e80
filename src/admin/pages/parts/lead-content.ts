import { html } from 'htm/preact';
import type { VNode } from 'preact';
import type { Content as LeadContent } from '../../contract/leads.ts';
import { leadAddress } from './addresses.ts';
import { badge } from './badge.ts';
import type { Content } from './content.ts';
import { withLineBreaks } from './line-breaks.ts';
import { beginning, rawText } from './raw-text.ts';
import { table } from './table.ts';
import { moment } from './time-element.ts';

/** Maximum length of the value of a field, in characters. The text as received shows more of a longer value. */
const MAX_VALUE = 10_000;

/**
 * Returns the placeholder for a lead's content, with a button that reveals the content. The button posts, so that no link or prefetch
 * reveals data.
 */
export function hiddenContent(address: string): VNode {
  const action = `${address}/data`;
  return html`<section id="content">
    <h2>The lead’s data</h2>
    <p class="masked" aria-hidden="true">••••••••••••  ••••••••  ••••••••••••••••</p>
    <form method="post" action=${action}>
      <p class="hint">Personal data, and the answers of destinations, which may repeat it. The audit log records each reader.</p>
      <p class="buttons"><button hx-post=${action} hx-select="#content" hx-target="#content" hx-swap="outerHTML" hx-sync="drop">Show the lead’s data</button></p>
    </form>
  </section>`;
}

/** Returns the button that shows the content of a version in the section for the lead's content. */
export function revealVersion(source: string, lead: string, version: number): VNode {
  const action = `${leadAddress(source, lead)}/data?version=${version}`;
  return html`<form method="post" action=${action} class="actions">
    <button hx-post=${action} hx-select="#content" hx-target="#content" hx-swap="outerHTML show:top" hx-sync="drop">Show version ${version}</button>
  </form>`;
}

/** Returns the section of a lead's content: the changes since the last version, the fields, the JSON as received, and destinations' answers. */
export function shownContent(content: LeadContent): VNode {
  const { source, lead_id, version, valid_from, raw, answers } = content;
  return html`<section id="content">
    <h2>The lead’s data <small>version ${version}, since ${moment(valid_from)}</small></h2>
    ${changes(content)}
    <dl class="data">${fieldsOf(raw)}</dl>
    <details><summary>As received <small>JSON is indented</small></summary>${rawText(raw)}</details>
    ${answers.length > 0 && [html`<h3>Answers of destinations</h3>`, answerList(answers)]}
    <p class="buttons"><a class="button" href=${leadAddress(source, lead_id)}>Hide</a></p>
  </section>`;
}

/** Returns a list of destinations' answers: personal data, because they may repeat the lead. */
export function answerList(answers: LeadContent['answers']): VNode {
  return html`<ul class="answers">${answers.map(answered)}</ul>`;
}

function answered({ sink, started_at, outcome, http_status, answer }: LeadContent['answers'][number]): VNode {
  return html`<li>
    <p>${moment(started_at)} ${sink}: ${badge(outcome)} ${http_status !== null && `HTTP ${http_status}`}</p>
    ${rawText(answer)}
  </li>`;
}

/** Returns the fields that differ from the previous version. */
function changes({ version, changed_fields, raw, raw_before }: LeadContent): Content {
  if (changed_fields === null || raw_before === null || changed_fields.length === 0) return null;
  const [before, now] = [recordOf(raw_before), recordOf(raw)];
  const columns = [
    { label: 'Field', of: (name: string) => html`<code><bdi>${name}</bdi></code>` },
    {
      label: `Version ${version - 1}`,
      of: (name: string) => html`<bdi>${shownValue(before[name])}</bdi>`,
      text: true,
    },
    {
      label: `Version ${version}`,
      of: (name: string) => html`<bdi>${shownValue(now[name])}</bdi>`,
      text: true,
    },
  ];
  const isKept = Object.keys(before).some((name) => name !== 'id');
  return [
    html`<h3>Changes</h3>`,
    !isKept && html`<p class="hint">The content of version ${version - 1} is no longer kept.</p>`,
    table({
      name: 'Changes',
      columns,
      rows: changed_fields,
      key: (name) => `changed-${name}`,
      empty: null,
    }),
    html`<h3>Complete content</h3>`,
  ];
}

function recordOf(raw: string): Record<string, unknown> {
  return (parsed(raw) ?? {}) as Record<string, unknown>;
}

function fieldsOf(raw: string): Content {
  const lead = parsed(raw);
  if (lead === undefined) return null;
  return Object.entries(lead).map(
    ([name, value]) => html`<div><dt><bdi>${name}</bdi></dt><dd><bdi>${shownValue(value)}</bdi></dd></div>`,
  );
}

/** Returns pairs of texts (questions with their answers, parts of an address) as a list, and any other value as text. */
function shownValue(value: unknown): Content {
  if (value === undefined || value === null || value === '') return html`<span class="none">–</span>`;
  if (typeof value === 'string') return cut(value);
  const pairs = pairsOf(value);
  if (pairs === undefined) return cut(JSON.stringify(value));
  return html`<ul>${pairs.map(([name, text]) => html`<li><bdi>${cut(name)}</bdi> <strong><bdi>${cut(text)}</bdi></strong></li>`)}</ul>`;
}

function cut(text: string): Content {
  return text.length <= MAX_VALUE ? withLineBreaks(text) : `${beginning(text, MAX_VALUE)}…`;
}

function pairsOf(value: unknown): [string, string][] | undefined {
  const pairs = Array.isArray(value)
    ? value.map((one) => [one?.question, one?.answer])
    : Object.entries(Object(value) as object);
  return pairs.length > 0 && pairs.every(isPair) ? pairs : undefined;
}

function isPair(pair: readonly unknown[]): pair is [string, string] {
  return pair.every((part) => typeof part === 'string');
}

/** Returns the parsed content; undefined if it can only be shown as received. */
function parsed(raw: string): object | undefined {
  try {
    return JSON.parse(raw) as object;
  } catch {
    return undefined; // nested too deeply for JSON.parse, though not for the listing's parser
  }
}

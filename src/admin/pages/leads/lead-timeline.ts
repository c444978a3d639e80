import { html } from 'htm/preact';
import type { VNode } from 'preact';
import { countOf, printCount, printSpan } from '../../../platform/text/human-readable.ts';
import type { LeadDetail } from '../../contract/leads.ts';
import { may } from '../../contract/rights.ts';
import { badge } from '../parts/badge.ts';
import type { Content } from '../parts/content.ts';
import { formattedText } from '../parts/formatted-text.ts';
import { revealVersion } from '../parts/lead-content.ts';
import { moment } from '../parts/time-element.ts';

interface TimelineEntry {
  readonly at: string;
  readonly what: Content;
  readonly more?: Content;
  readonly button?: Content;
}

/** Returns a list of everything that happened to a lead, in order of time. */
export function timeline({ lead, versions, deliveries }: LeadDetail): VNode {
  const show = (version: number) =>
    may('reveal') && versions.length > 1 && revealVersion(lead.source, lead.lead_id, version);
  const entries = [
    ...versions.map((version) => listed(version, show(version.version))),
    ...owed(deliveries),
    ...deliveries.flatMap(delivered),
  ];
  // The sort is stable: entries of the same time stay in causal order (listed, owed, attempted).
  entries.sort((one, other) => Date.parse(one.at) - Date.parse(other.at));
  return html`<ol class="timeline">${entries.map(
    ({ at, what, more, button }, place) => html`<li>
      <div class="when">${moment(at)}${sincePrevious(at, entries[place - 1]?.at)}</div>
      <div><p>${what}</p>${more && html`<p class="more">${more}</p>`}${button}</div>
    </li>`,
  )}</ol>`;
}

/** Returns the time that passed since the entry before, because the difference of two shown times says nothing below a second. */
function sincePrevious(at: string, previous: string | undefined): Content {
  if (previous === undefined || previous === at) return undefined;
  return html`<small>+${printSpan(Date.parse(at) - Date.parse(previous))}</small>`;
}

function listed(
  { version, valid_from, poll_id, changed_fields }: LeadDetail['versions'][number],
  button: Content,
): TimelineEntry {
  if (version === 1)
    return { at: valid_from, what: html`<strong>First listed</strong> in poll ${poll_id}`, button };
  return {
    at: valid_from,
    button,
    what: html`<strong>Changed</strong> in poll ${poll_id}: version ${version}`,
    more: changed_fields && changed_fields.length > 0 && ['Fields: ', fieldList(changed_fields)],
  };
}

function fieldList(fields: readonly string[]): Content {
  return fields.map((field, at) => [at > 0 && ', ', html`<code><bdi>${field}</bdi></code>`]);
}

type Delivery = LeadDetail['deliveries'][number];

function delivered(delivery: Delivery): TimelineEntry[] {
  return [...delivery.attempt_rows.map((attempt) => attempted(delivery, attempt)), ...settled(delivery)];
}

/** Returns one entry for each group of deliveries that were owed at the same time for the same reason, with the names of their sinks. */
function owed(deliveries: readonly Delivery[]): TimelineEntry[] {
  const groups = Map.groupBy(deliveries, (delivery) => `${delivery.owed_at} ${whyOwed(delivery)}`);
  return [...groups.values()].flatMap((group) => {
    const [first] = group;
    if (first === undefined) return [];
    const sinks = [...new Set(group.map(({ sink }) => sink))].sort();
    const to = sinks.length === 1 ? first.sink : countOf(sinks.length, 'sink');
    return {
      at: first.owed_at,
      what: html`<strong>Owed</strong> to ${to}: ${whyOwed(first)}`,
      more: sinks.length > 1 && sinks.join(', '),
    };
  });
}

function whyOwed({ event, lead_version, replay }: Delivery): string {
  return replay ? 'again, as a replay' : `${event}, version ${lead_version}`;
}

function attempted(
  { sink, ref, reason }: Delivery,
  attempt: Delivery['attempt_rows'][number],
): TimelineEntry {
  const { started_at, duration_ms, outcome, http_status, error, times, last_started_at } = attempt;
  const facts = [printSpan(duration_ms), http_status !== null && `HTTP ${http_status}`]
    .filter(Boolean)
    .join(', ');
  const again =
    times > 1 && html`${printCount(times)} identical attempts, the last ${moment(last_started_at)}. `;
  const remark = outcome === 'delivered' ? reason : error;
  return {
    at: started_at,
    what: html`<strong>Attempt</strong> at ${sink}: ${badge(outcome)} ${facts} ${outcome === 'delivered' && ref && recordLink(ref)}`,
    more: (again || remark) && [again, html`<bdi>${remark && formattedText(remark)}</bdi>`],
  };
}

/** Returns the record that the lead became at the destination, as a link if the record has a web address. */
function recordLink({ object, id, url }: NonNullable<Delivery['ref']>): Content {
  const isWeb = url !== null && /^https?:$/.test(URL.parse(url)?.protocol ?? '');
  const words = html`<bdi>${object} ${id}</bdi>`;
  return isWeb ? html`<a href=${url} rel="noreferrer">${words}</a>` : words;
}

/**
 * Returns the entry that says how a dead or skipped delivery ended, because its attempts do not say so. Returns an empty array for any
 * other delivery.
 */
function settled({ state, settled_at, reason, sink }: Delivery): TimelineEntry[] {
  if (settled_at === null || (state !== 'dead' && state !== 'skipped')) return [];
  const what =
    state === 'dead'
      ? html`<strong>Given up</strong> for ${sink}`
      : html`<strong>Skipped</strong> for ${sink}`;
  return [{ at: settled_at, what, more: html`<bdi>${reason && formattedText(reason)}</bdi>` }];
}

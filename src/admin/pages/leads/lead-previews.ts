import { html } from 'htm/preact';
import type { VNode } from 'preact';
import { MAX_PREVIEWED } from '../../contract/operations.ts';
import type { LeadPreviews } from '../../contract/previews.ts';
import { may } from '../../contract/rights.ts';
import { leadAddress, playgroundAddress, withQuery } from '../parts/addresses.ts';
import { badge } from '../parts/badge.ts';
import { confirmButton } from '../parts/confirmation.ts';
import type { Content } from '../parts/content.ts';
import { formattedText } from '../parts/formatted-text.ts';

type SinkPreviews = LeadPreviews['sinks'][number];

/**
 * Returns the section that hides what each sink gets, which is lead data in another form, behind a button. The button posts, so that no link or
 * prefetch reveals data.
 */
export function hiddenPreviews(source: string, lead: string): VNode {
  const action = `${leadAddress(source, lead)}/previews`;
  return html`<section id="previews">
    <h2>What each sink gets</h2>
    <p class="masked" aria-hidden="true">••••••••••••  ••••••••  ••••••••••••••••</p>
    <form method="post" action=${action}>
      <p class="hint">Personal data: what each sink would get for this lead now. Nothing is sent. The audit log records each reader.</p>
      <p class="buttons">
        <button hx-post=${action} hx-select="#previews" hx-target="#previews" hx-swap="outerHTML" hx-sync="drop">Show what each sink gets</button>
        ${may('tryExpression') && tryLink(source, lead)}
      </p>
    </form>
  </section>`;
}

/** Returns the section that shows, for each sink, what it would get for a lead now, or why it would get nothing. Contains personal data. */
export function shownPreviews({ source, lead_id, sinks }: LeadPreviews): VNode {
  return html`<section id="previews">
    <h2>What each sink gets <small>now, according to the configuration in force</small></h2>
    ${sinks.length === 0 ? html`<p class="empty">There are no sinks.</p>` : html`<div class="cards">${sinks.map((sink) => previewCard(sink, lead_id, replayButton(sink, source, lead_id)))}</div>`}
    <p class="buttons after">
      <a class="button" href=${leadAddress(source, lead_id)}>Hide</a>
      ${may('tryExpression') && tryLink(source, lead_id)}
    </p>
  </section>`;
}

function tryLink(source: string, lead: string): VNode {
  return html`<a class="button" href=${playgroundAddress({ source, lead })}>Try an expression on this lead</a>`;
}

/** Returns a card that shows what one sink would get for a lead, or why it would get nothing, with `actions`. Contains personal data. */
export function previewCard(preview: SinkPreviews, lead: string, actions: Content = null): VNode {
  const { sink, type, state, reason, note, fields, previews } = preview;
  const isSent = state === 'sent';
  const isAgain = preview.delivery_state === 'delivered';
  return html`<div class="card">
    <h3><bdi>${sink}</bdi> <small>${type}</small> ${badge(standingOf(preview))}</h3>
    ${!isSent && isAgain && html`<p class="hint">If it were sent again now:</p>`}
    ${reason !== null && html`<p>${formattedText(reason)}</p>`}
    ${note !== null && html`<p class="hint">${formattedText(note)}</p>`}
    ${actions}
    ${!isSent && previews.length > 0 && html`<p class="hint">It would send:</p>`}
    ${fields !== null && html`<dl class="data">${fields.map(({ name, json }) => entry(name, shownJson(json)))}</dl>`}
    ${previews.map((one) => previewOf(one, fields !== null, preview, lead))}
  </div>`;
}

/** Returns a button that sends a delivered lead to the sink again, unless the mapping leaves the lead out. */
function replayButton(
  { sink, state, delivery_state: delivery }: SinkPreviews,
  source: string,
  lead: string,
): Content {
  if (state !== 'sent' || delivery !== 'delivered' || !may('replay')) return null;
  const action = withQuery(`${leadAddress(source, lead)}/replay`, { sink });
  return html`<div class="actions">${confirmButton(action, 'Replay…')}</div>`;
}

/**
 * Returns a label that says whether the sink has the lead or will get it without further action. A preview of a settled delivery shows what a
 * replay or retry sends.
 */
function standingOf({ state, delivery_state: delivery }: SinkPreviews): string {
  if (delivery === 'delivered') return 'has the lead';
  if (delivery === 'dead') return 'dead';
  return state === 'sent' ? 'gets the lead' : 'does not get the lead';
}

/** Returns a request, file or row. It is collapsed if the fields of the mapping, which it contains, are shown above. */
function previewOf(
  { target, fields, content, truncated }: SinkPreviews['previews'][number],
  isFolded: boolean,
  { sink }: SinkPreviews,
  lead: string,
): VNode {
  const command = `leadsync preview --sink ${sink} --lead ${lead}`;
  return html`<details open=${!isFolded}>
    <summary><code><bdi>${target}</bdi></code></summary>
    ${fields.length > 0 && html`<dl class="data">${fields.map(({ name, value }) => entry(name, value))}</dl>`}
    ${content !== null && html`<pre tabindex="0">${content}</pre>`}
    ${truncated && html`<p class="hint">Only the first ${MAX_PREVIEWED.toLocaleString('en')} characters of each text are shown. <code>${command}</code> shows all.</p>`}
  </details>`;
}

function entry(name: string, value: Content): VNode {
  return html`<div><dt><bdi>${name}</bdi></dt><dd><bdi>${value}</bdi></dd></div>`;
}

/** Returns the value of a field: text without its quotes, anything else as JSON. */
function shownJson(json: string): Content {
  if (json === 'null' || json === '""')
    return html`<span class="none">${json === 'null' ? 'null' : 'empty text'}</span>`;
  return textOfJson(json);
}

/** Returns the text that a JSON string represents; the JSON itself if it is another value or is truncated. */
export function textOfJson(json: string): string {
  if (!json.startsWith('"')) return json;
  try {
    return String(JSON.parse(json));
  } catch {
    return json; // truncated
  }
}

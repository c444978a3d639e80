import { html } from 'htm/preact';
import type { VNode } from 'preact';
import type { Content as LeadContent } from '../../contract/leads.ts';
import type { LeadPreviews } from '../../contract/previews.ts';
import type { SinkDetail } from '../../contract/sinks.ts';
import { previewCard } from '../leads/lead-previews.ts';
import { leadAddress, sinkAction, sinkAddress } from '../parts/addresses.ts';
import { formattedText } from '../parts/formatted-text.ts';
import { answerList } from '../parts/lead-content.ts';

/** Maximum number of leads to choose from, and of failed attempts among them. */
const MAX_LEADS = 20;
const MAX_FAILED = 10;

/** A lead of a source, as the form names it: `main:4711`. */
export interface ChosenLead {
  readonly source: string;
  readonly lead: string;
}

/** Returns the lead that a form names; undefined if the text does not have this format. */
export function chosenLead(text: string): ChosenLead | undefined {
  const [, source, lead] = /^([a-z0-9][a-z0-9_-]{0,62}):(\d{1,19})$/.exec(text) ?? [];
  return source === undefined || lead === undefined ? undefined : { source, lead };
}

/**
 * Returns the section with a choice of recent leads, failed ones first, and a button that reveals what the sink gets for a lead and the sink's
 * answers.
 */
export function hiddenRequest({ sink, recent, recent_failed: failed }: SinkDetail): VNode {
  const action = sinkAction(sink, 'request');
  const leads = [
    ...new Set(
      [...failed.slice(0, MAX_FAILED), ...recent].map(({ source, lead_id }) => `${source}:${lead_id}`),
    ),
  ].slice(0, MAX_LEADS);
  return html`<section id="request">
    <h2>Request and answer</h2>
    ${
      leads.length === 0
        ? html`<p class="empty">There is no recent attempt to choose from.</p>`
        : html`<p class="masked" aria-hidden="true">••••••••••••  ••••••••  ••••••••••••••••</p>
          <form method="post" action=${action}>
            <p class="hint">Personal data: what ${sink} would get for a lead now, and what it answered before. Nothing is sent. The audit log records each reader.</p>
            <p class="buttons">
              <label for="request-lead">Lead</label>
              <select id="request-lead" name="lead">${leads.map((lead) => html`<option value=${lead}>${lead}</option>`)}</select>
              <button hx-post=${action} hx-select="#request" hx-target="#request" hx-swap="outerHTML" hx-sync="drop">Show request and answer</button>
            </p>
          </form>`
    }
  </section>`;
}

/** Returns the section with what a sink would get for a lead now, and the sink's answers: personal data. */
export function shownRequest(
  { sink, recent, recent_failed }: SinkDetail,
  previews: LeadPreviews,
  content: LeadContent | undefined,
): VNode {
  const preview = previews.sinks.find((one) => one.sink === sink);
  const answers = (content?.answers ?? []).filter((one) => one.sink === sink);
  const { source, lead_id: lead } = previews;
  const last = [...recent, ...recent_failed].find((one) => one.source === source && one.lead_id === lead);
  return html`<section id="request">
    <h2>Request and answer <small>lead <a href=${leadAddress(source, lead)}>${lead}</a> of ${source}; the request as the configuration in force makes it</small></h2>
    ${preview ? previewCard(preview, lead) : html`<p class="empty">The configuration in force has no sink ${sink}.</p>`}
    <h3>Answers</h3>
    ${answers.length > 0 ? answerList(answers) : html`<p class="hint">${formattedText(whyNoAnswer(last))}</p>`}
    <p class="buttons after"><a class="button" href=${sinkAddress(sink)}>Hide</a></p>
  </section>`;
}

/** Returns a sentence on why the ledger has no answer to a lead. `last` is the lead's last attempt at the sink; undefined if it is not known. */
function whyNoAnswer(last: SinkDetail['recent'][number] | undefined): string {
  if (last === undefined) return 'The ledger has no answer to this lead.';
  if (last.outcome === 'delivered')
    return 'The ledger has no answer: the last attempt delivered the lead, and leadsync keeps the answer to such an attempt only if the sink has `store_answers: all`, an option of webhooks and emails.';
  return last.http_status === null
    ? 'The ledger has no answer: the destination gave none to the last attempt, which failed.'
    : `The ledger has only the status of the answer to the last attempt, HTTP ${last.http_status}: the answer had no text, or its text was removed.`;
}

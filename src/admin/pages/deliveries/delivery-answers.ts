import type { FastifyReply, FastifyRequest } from 'fastify';
import { html } from 'htm/preact';
import type { VNode } from 'preact';
import { countOf } from '../../../platform/text/human-readable.ts';
import type { Content as LeadContent } from '../../contract/leads.ts';
import { may } from '../../contract/rights.ts';
import { queryOf } from '../lists/filters.ts';
import { leadAddress, withQuery } from '../parts/addresses.ts';
import { confirmButton, dialogAttributes } from '../parts/confirmation.ts';
import type { Content } from '../parts/content.ts';
import { formattedText } from '../parts/formatted-text.ts';
import { answerList } from '../parts/lead-content.ts';
import { paramOf, type Site } from '../parts/site.ts';

/** A delivery, or an attempt of one, and whether the ledger has an answer to it. */
interface Answered {
  readonly delivery_id: string;
  readonly source: string;
  readonly lead_id: string;
  readonly has_answer: boolean;
}

const LABEL = 'Answer…';

/**
 * Returns the button that shows the destination's answers in a dialog; null if the ledger has none or the reader may not see them. The button posts,
 * so that no link or prefetch reveals data. `isInForm`: whether the button is inside a form, which cannot contain another form.
 */
export function answerButton(
  { delivery_id, source, lead_id, has_answer }: Answered,
  isInForm = false,
): Content {
  if (!has_answer || !may('reveal')) return null;
  const action = withQuery(`${leadAddress(source, lead_id)}/answers`, { delivery: delivery_id });
  return isInForm
    ? html`<button formaction=${action} ...${dialogAttributes(action)}>${LABEL}</button>`
    : confirmButton(action, LABEL);
}

/** Returns the reason for a failure, with the answer button below it. */
export function reasonAndAnswer(reason: string | null, answered: Answered, isInForm = false): Content {
  const button = answerButton(answered, isInForm);
  return [
    reason !== null && html`<bdi>${formattedText(reason)}</bdi>`,
    button && html`<div class="actions">${button}</div>`,
  ];
}

/** Sends the answers to one delivery of a lead, as a dialog. Returns undefined if the ledger does not have the lead. */
export async function showAnswers(
  site: Site,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply | undefined> {
  const [source, lead] = [paramOf(request, 'source'), paramOf(request, 'lead')];
  const delivery = queryOf(request).get('delivery') ?? '';
  const content = await site.operations.reveal(source, lead, undefined, delivery);
  if (content === undefined) return undefined;
  return site.show(request, reply, {
    title: `Answers to lead ${lead}`,
    still: answersOf(content),
    address: leadAddress(source, lead),
  });
}

/** Returns the section that the dialog shows, with the answers in it. */
function answersOf({ source, lead_id, answers }: LeadContent): VNode {
  const back = leadAddress(source, lead_id);
  return html`<section id="ask">
    <h2 id="ask-heading">${answers.length === 0 ? 'The ledger no longer has the answer' : countOf(answers.length, 'answer')} <small>to lead <a href=${back}>${lead_id}</a> of ${source}</small></h2>
    ${
      answers.length === 0
        ? html`<p class="consequences">It was removed: the lead was erased, or <code>retention</code> removed the attempt.</p>`
        : html`<p class="hint">Personal data. The audit log has recorded you as a reader.</p>${answerList(answers)}`
    }
    <p class="buttons"><a class="button" href=${back} data-close>Close</a></p>
  </section>`;
}

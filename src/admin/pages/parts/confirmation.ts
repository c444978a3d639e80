import { html } from 'htm/preact';
import type { VNode } from 'preact';
import type { Content } from './content.ts';

/** A question that the reader must confirm before an action. */
export interface Confirmation {
  /** Title of the page, for example `Retry deliveries`. */
  readonly title: string;
  /** Question in the heading, for example `Retry 1,240 deliveries?`. */
  readonly question: string;
  /** Effect of the action. */
  readonly consequences: Content;
  /** Label of the button that confirms. Undefined if the action is not possible; `consequences` then says why. */
  readonly confirmLabel?: string | undefined;
  /** Label of the link that does nothing, if `Cancel` could be read as the action. */
  readonly dismissLabel?: string;
  /** Hidden fields of the form. */
  readonly fields?: readonly (readonly [name: string, value: string])[];
  /** Visible fields of the form. */
  readonly form?: Content;
  /** Address of the page that Cancel leads to. */
  readonly back: string;
}

/** Returns the question as a form in the section `#ask`, which htmx extracts from the page to show it in the dialog. */
export function confirmationForm(
  action: string,
  { question, consequences, confirmLabel, dismissLabel = 'Cancel', fields = [], form, back }: Confirmation,
): VNode {
  return html`<section id="ask">
    <h2 id="ask-heading">${question}</h2>
    <div class="consequences">${consequences}</div>
    <form method="post" action=${action}>
      ${fields.map(([name, value]) => html`<input type="hidden" name=${name} value=${value} />`)}
      ${form}
      <p class="buttons">
        ${confirmLabel && html`<button class=${isDangerous(action) ? 'primary danger' : 'primary'} name="sure" value="yes">${confirmLabel}</button>`}
        <a class="button" href=${back} data-close>${confirmLabel ? dismissLabel : 'Back'}</a>
      </p>
    </form>
  </section>`;
}

/** Returns a button that opens a confirmation: in a dialog or, without JavaScript, on a page of its own. */
export function confirmButton(action: string, label: string, more: { primary?: boolean } = {}): VNode {
  return html`<form method="post" action=${action}>
    <button class=${more.primary ? 'primary' : undefined} ...${dialogAttributes(action)}>${label}</button>
  </form>`;
}

/** Returns a button that opens a confirmation for an action on everything that matches the filter in the address. */
export function confirmAllButton(action: string, label: string): VNode {
  return html`<form method="post" action=${action}><button name="all" value="yes" ...${dialogAttributes(action)}>${label}</button></form>`;
}

/** Returns the attributes with which a button opens the question in the dialog. Styles the button of a dangerous action. */
export function dialogAttributes(action: string): Record<string, string> {
  return {
    ...(isDangerous(action) && { class: 'danger' }),
    'hx-post': action,
    'hx-select': '#ask',
    'hx-target': '#dialog-body',
    'hx-swap': 'innerHTML',
    'hx-sync': 'drop',
  };
}

/** Whether an action gives up deliveries: unless an operator acts again, the destination never gets them. */
function isDangerous(action: string): boolean {
  return /\/(?:discard|cancel-replay)(?:\?|$)/.test(action);
}

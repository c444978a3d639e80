import { html } from 'htm/preact';
import type { VNode } from 'preact';
import type { Content } from './content.ts';

/** A question before something that has consequences. */
export interface Confirmation {
  /** What is about to be done: `Retry deliveries`. */
  readonly title: string;
  /** `Retry 1,240 deliveries?` */
  readonly question: string;
  /** What follows from it. */
  readonly consequences: Content;
  /** What the button says that does it; nothing: it cannot be done, and the consequences say why. */
  readonly confirmLabel?: string | undefined;
  /** What comes along with the answer. */
  readonly fields?: readonly (readonly [name: string, value: string])[];
  /** What is to be filled in. */
  readonly form?: Content;
  /** The page to go back to. */
  readonly back: string;
}

/** The question as a form; also what a dialog takes out of the page. */
export function confirmationForm(
  action: string,
  { question, consequences, confirmLabel, fields = [], form, back }: Confirmation,
): VNode {
  return html`<section id="ask">
    <h2>${question}</h2>
    <div class="consequences">${consequences}</div>
    <form method="post" action=${action}>
      ${fields.map(([name, value]) => html`<input type="hidden" name=${name} value=${value} />`)}
      ${form}
      <p class="buttons">
        ${confirmLabel && html`<button class="primary" name="sure" value="yes">${confirmLabel}</button>`}
        <a class="button" href=${back} data-close>${confirmLabel ? 'Cancel' : 'Back'}</a>
      </p>
    </form>
  </section>`;
}

/** A button that asks before it does something: in a dialog, or without scripts on a page of its own. */
export function confirmButton(action: string, label: string, more: { primary?: boolean } = {}): VNode {
  return html`<form method="post" action=${action}>
    <button class=${more.primary ? 'primary' : undefined} ...${dialogAttributes(action)}>${label}</button>
  </form>`;
}

/** Lets a button show the answer in the dialog. */
export function dialogAttributes(action: string): Record<string, string> {
  return {
    'hx-post': action,
    'hx-select': '#ask',
    'hx-target': '#dialog-body',
    'hx-swap': 'innerHTML',
    'hx-sync': 'drop',
  };
}

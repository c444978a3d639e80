import { html } from 'htm/preact';
import type { VNode } from 'preact';

/** Returns a link. With `about`, the link's name for screen readers has its subject, because a page can have several links with the same text. */
export function link(address: string, text: string, about?: string): VNode {
  return html`<a href=${address} aria-label=${about === undefined ? undefined : `${text}: ${about}`}>${text}</a>`;
}

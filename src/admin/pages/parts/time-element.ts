import { html } from 'htm/preact';
import type { VNode } from 'preact';
import { printAgo, printDate } from '../../../platform/text/human-readable.ts';

/** Returns a time in UTC, which a script converts to the reader's time zone. Returns the text `none` if there is no time. */
export function moment(at: string | null | undefined, none = '–'): VNode {
  if (!at) return html`<span class="none">${none}</span>`;
  return html`<time datetime=${at} title=${isoTitle(at)} data-local>${printDate(new Date(at))}</time>`;
}

/** Returns the age of a time, with the time itself as its tooltip. */
export function ago(at: string | null | undefined, now: Date, none = 'never'): VNode {
  if (!at) return html`<span class="none">${none}</span>`;
  return html`<time datetime=${at} title=${isoTitle(at)}>${printAgo(new Date(at), now)}</time>`;
}

function isoTitle(at: string): string {
  return `${at.replace('T', ' ').replace('Z', '')} UTC`;
}

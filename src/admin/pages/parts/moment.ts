import { html } from 'htm/preact';
import type { VNode } from 'preact';
import { printAgo, printDate } from '../../../platform/text/format.ts';

/** A time, in UTC until the reader's browser knows better; `none` where there is none. */
export function moment(at: string | null | undefined, none = '–'): VNode {
  if (!at) return html`<span class="none">${none}</span>`;
  return html`<time datetime=${at} title=${isoTitle(at)} data-local>${printDate(new Date(at))}</time>`;
}

/** How long ago a time is, with the time itself as its title. */
export function ago(at: string | null | undefined, now: Date, none = 'never'): VNode {
  if (!at) return html`<span class="none">${none}</span>`;
  return html`<time datetime=${at} title=${isoTitle(at)}>${printAgo(new Date(at), now)}</time>`;
}

function isoTitle(at: string): string {
  return `${at.replace('T', ' ').replace('Z', '')} UTC`;
}

import { html } from 'htm/preact';
import type { VNode } from 'preact';
import { printCount } from '../../../platform/text/human-readable.ts';

/** Returns a count that links to what it counts; a plain 0 if there is nothing. */
export function countLink(address: string, count: number): VNode | string {
  return count === 0 ? '0' : html`<a href=${address}>${printCount(count)}</a>`;
}

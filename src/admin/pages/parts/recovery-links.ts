import type { FastifyRequest } from 'fastify';
import { html } from 'htm/preact';
import type { VNode } from 'preact';
import { similarName } from '../../../platform/text/suggest.ts';
import { actor } from '../../contract/actor.ts';
import { isAllowed } from '../../contract/rights.ts';
import { withQuery } from './addresses.ts';
import { MENU } from './layout.ts';

type Way = readonly [address: string, label: string];

/** Returns the links of an error page: to the overview, to the page that was probably meant, and to the same address if another try may work. */
export function recoveryLinks(request: Pick<FastifyRequest, 'method' | 'url'>, status: number): VNode {
  const ways: readonly Way[] = [...again(request, status), ...pageMeant(request), ['/', 'To the overview']];
  return html`<nav class="buttons after" aria-label="Where to go next">${ways.map(
    ([address, label]) => html`<a class="button" href=${address}>${label}</a>`,
  )}</nav>`;
}

/** Returns a link to the same address if leadsync failed, or to the address without its parameters if there was a mistake in them. */
function again({ method, url }: Pick<FastifyRequest, 'method' | 'url'>, status: number): readonly Way[] {
  // An address that begins with two slashes would be a link to another host.
  if (method !== 'GET' || url.startsWith('//')) return [];
  if (status >= 500) return [[url, 'Try again']];
  return status === 400 && url.includes('?') ? [[pathOf(url), 'Without the parameters']] : [];
}

/**
 * Returns a link to the menu page that the reader probably meant, because the requested address begins with its address or with a misspelling of
 * it.
 */
function pageMeant({ url }: Pick<FastifyRequest, 'url'>): readonly Way[] {
  const [, first = ''] = pathOf(url).toLowerCase().split('/');
  const reader = actor.getStore();
  const pages = MENU.filter(([, address, operation]) => address !== '/' && isAllowed(reader, operation));
  const names = pages.map(([, address]) => address.slice(1));
  const begun = first.length > 2 ? names.find((name) => name.startsWith(first)) : undefined;
  const meant = names.includes(first) ? first : (begun ?? similarName(first, names, 1 / 2));
  return pages
    .filter(([, address]) => address === `/${meant}` && address !== url)
    .map(([label, address]) => [withQuery(address, filterFor(address, url)), `To ${label}`] as const);
}

/** Returns the filter for the id of a lead whose page does not exist, because another source may have a lead with this id. */
function filterFor(address: string, url: string): { readonly lead?: string } {
  const [, lead] = /^\/leads\/[^/]+\/(\d{1,19})(?:\/|$)/.exec(pathOf(url)) ?? [];
  return address === '/leads' && lead !== undefined ? { lead } : {};
}

function pathOf(url: string): string {
  return url.split('?', 1)[0] ?? '';
}

import type { OutgoingHttpHeaders } from 'node:http';
import type { Element } from './shown-leads.ts';

/** Pages of the listing, requested as `?page=2` and counted from 1. The description has none, but some services do. */
export interface Paging {
  /** `link`: a Link header (RFC 8288) names the next page. `page`: the reader counts up until a page is empty. */
  readonly style: 'link' | 'page';
  readonly size: number;
  /** Whether every page equals the first, as from a service that ignores the parameter. */
  readonly stuck?: boolean;
}

export interface Page {
  readonly headers: OutgoingHttpHeaders;
  elements(): Iterable<Element>;
}

/** Returns the part of the listing that a request asks for; everything without paging. */
export function pageOf(elements: () => Iterable<Element>, url: URL, paging: Paging | undefined): Page {
  if (paging === undefined) return { headers: {}, elements };
  const number = Math.max(1, Math.floor(Number(url.searchParams.get('page') ?? 1)) || 1);
  const start = paging.stuck ? 0 : (number - 1) * paging.size;
  const all = [...elements()];
  const isLast = !paging.stuck && start + paging.size >= all.length;
  const next = new URL(url);
  next.searchParams.set('page', String(number + 1));
  return {
    headers: paging.style === 'link' && !isLast ? { link: `<${next.href}>; rel="next"` } : {},
    elements: () => all.slice(start, start + paging.size),
  };
}

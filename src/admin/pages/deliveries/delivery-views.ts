import { html } from 'htm/preact';
import type { VNode } from 'preact';
import { printCount } from '../../../platform/text/human-readable.ts';
import type { DeliveryFilter } from '../../contract/deliveries.ts';
import type { Operations } from '../../contract/operations.ts';
import type { Count } from '../../contract/values.ts';
import type { ParsedFilter } from '../lists/filters.ts';
import { withQuery } from '../parts/addresses.ts';

/** The usual views of the list, by the state that they show. */
const VIEWS = [
  ['All', undefined],
  ['Undelivered', 'undelivered'],
  ['Dead', 'dead'],
] as const;

/** The numbers of undelivered and of dead deliveries that match the filter apart from its state. */
export interface ViewCounts {
  readonly undelivered: Count;
  readonly dead: Count;
}

/** Counts what the views show. Returns undefined for a `webhook-id`, because each count would search the last attempts for it again. */
export async function countViews(
  operations: Operations,
  filter: DeliveryFilter,
): Promise<ViewCounts | undefined> {
  if (filter.webhook_id !== undefined) return undefined;
  const [undelivered, dead] = await Promise.all([
    operations.countDeliveries({ ...filter, state: 'undelivered' }),
    operations.countDeliveries({ ...filter, state: 'dead' }),
  ]);
  return { undelivered, dead };
}

/** Returns links to the usual views: all deliveries, those that have not arrived, and dead ones. The links keep the rest of the filter. */
export function views({ input }: ParsedFilter<unknown>, counts: ViewCounts | undefined): VNode {
  return html`<nav class="periods" aria-label="Deliveries">${VIEWS.map(([label, state]) => {
    const count = state && counts?.[state];
    return html`<a class="button" href=${withQuery('/deliveries', { ...input, state })} aria-current=${state === input['state'] ? 'true' : undefined}>${label}${count && ` ${countText(count)}`}</a>`;
  })}</nav>`;
}

function countText({ count, isAtLeast }: Count): string {
  return `${printCount(count)}${isAtLeast ? '+' : ''}`;
}

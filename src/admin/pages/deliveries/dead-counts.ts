import { html } from 'htm/preact';
import { countOf, printCount } from '../../../platform/text/human-readable.ts';
import type { DeliveryFilter } from '../../contract/deliveries.ts';
import type { SinkOverview } from '../../contract/overview.ts';
import type { Content } from '../parts/content.ts';
import { formattedText } from '../parts/formatted-text.ts';
import type { Site } from '../parts/site.ts';

/** Maximum number of reasons that the question names. */
const MAX_REASONS = 5;

/**
 * Returns the numbers of dead deliveries by sink or, with a filter by sink, by reason. Returns nothing for a filter by anything else, because those
 * would have to be counted.
 */
export async function partsOf(
  { operations }: Site,
  { sink, state: _, ...others }: DeliveryFilter,
  sinks: readonly SinkOverview[],
): Promise<readonly string[]> {
  if (Object.values(others).some((value) => value !== undefined)) return [];
  if (sink === undefined)
    return sinks.filter(({ dead }) => dead > 0).map((one) => `${one.sink}: ${printCount(one.dead)}`);
  const detail = await operations.sink(sink, '1h');
  const reasons = (detail?.reasons ?? []).filter(({ state }) => state === 'dead');
  const more = reasons.length - MAX_REASONS;
  return [
    ...reasons.slice(0, MAX_REASONS).map(({ reason, deliveries }) => `${printCount(deliveries)}: ${reason}`),
    ...(more > 0 ? [countOf(more, 'more reason')] : []),
    ...(detail?.reasons_complete === false ? ['Only the last 5,000 are counted here.'] : []),
  ];
}

/** Returns the parts as a list, for a dialog; nothing if there are none. */
export function listOfParts(parts: readonly string[]): Content {
  return (
    parts.length > 0 &&
    html`<ul>${parts.map((part) => html`<li><bdi>${formattedText(part)}</bdi></li>`)}</ul>`
  );
}

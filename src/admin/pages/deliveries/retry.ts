import type { FastifyReply, FastifyRequest } from 'fastify';
import { html } from 'htm/preact';
import { countOf } from '../../../platform/text/human-readable.ts';
import { DeliveryFilter } from '../../contract/deliveries.ts';
import type { SinkOverview } from '../../contract/overview.ts';
import { countText } from '../lists/count-text.ts';
import { queryOf, readFilter } from '../lists/filters.ts';
import { withQuery } from '../parts/addresses.ts';
import type { Content } from '../parts/content.ts';
import { fieldsOf, type Site } from '../parts/site.ts';
import { moment } from '../parts/time-element.ts';
import { listOfParts, partsOf } from './dead-counts.ts';
import { fieldsFor, scopeText } from './delivery-filter.ts';

/** Asks first, then retries the selected deliveries, or all that match the filter in the address. */
export function retry(site: Site, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const selected = fieldsOf(request).getAll('delivery');
  return selected.length > 0
    ? retrySelected(site, request, reply, selected)
    : retryMatching(site, request, reply);
}

/** Returns the confirmation for a retry of one delivery of a lead. `name` is the delivery's sink; undefined if it is not known. */
export function retryOneAsk(lead: string, name: string | undefined, sinks: readonly SinkOverview[]) {
  const sink = sinks.find((one) => one.sink === name);
  return {
    title: 'Retry',
    question:
      name === undefined
        ? `Retry this delivery of lead ${lead} now?`
        : `Retry the delivery of lead ${lead} to ${name} now?`,
    consequences: html`<p>It is due immediately, with a new retry schedule. Its idempotency key changes only with the mapping.</p>
      ${sink && waitOf(sink)}`,
    confirmLabel: 'Retry',
  };
}

/** Returns a paragraph on why a due delivery waits because of the state of its sink; null if it does not. */
function waitOf({ sink, state, next_attempt_at: probeAt }: SinkOverview): Content {
  switch (state) {
    case 'healthy':
      return null;
    case 'held':
      return html`<p>${sink} is held, so the delivery waits until a probe succeeds.${probeAt !== null && html` The next probe is at ${moment(probeAt)}.`}</p>`;
    case 'paused':
      return html`<p>${sink} is paused, so the delivery waits until you resume the sink.</p>`;
    case 'disabled':
      return html`<p>${sink} is disabled in the configuration, so the delivery waits until you enable the sink.</p>`;
    case 'orphaned':
      return html`<p>${sink} is no longer in the configuration, so the delivery waits until you add the sink again.</p>`;
  }
}

async function retrySelected(
  site: Site,
  request: FastifyRequest,
  reply: FastifyReply,
  selected: readonly string[],
): Promise<FastifyReply> {
  const back = withQuery('/deliveries', Object.fromEntries(queryOf(request)));
  if (fieldsOf(request).has('all')) return retryMatching(site, request, reply);
  if (!fieldsOf(request).has('sure')) {
    return site.confirm(request, reply, {
      ...retryAsk(countOf(selected.length, 'selected delivery'), back),
      fields: selected.map((delivery) => ['delivery', delivery] as const),
    });
  }
  let count = 0;
  for (const delivery of selected) count += await site.operations.retry({ delivery });
  return site.done(reply, back, retryNotice(count));
}

async function retryMatching(
  site: Site,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const query = queryOf(request);
  const back = withQuery('/deliveries', Object.fromEntries(query));
  const fields = fieldsOf(request);
  if (!fields.has('all'))
    return site.done(reply, back, { kind: 'bad', text: 'Nothing was retried: no row is selected.' });
  const { sinks, sources } = await site.operations.overview();
  const filterFields = fieldsFor({ sinks, sources }, query);
  const filtered = readFilter(query, filterFields, DeliveryFilter, new Date());
  const { filter } = filtered;
  if (filter === undefined)
    return site.done(reply, back, { kind: 'bad', text: 'Nothing was retried: the filter is not valid.' });
  const selection = { ...filter, state: filter.state ?? 'dead' };
  if (fields.has('sure')) return site.done(reply, back, retryNotice(await site.operations.retry(selection)));
  const counted = await site.operations.countDeliveries(selection);
  const words = countText(counted, `${selection.state} delivery`);
  const scope = scopeText(filterFields, filtered);
  const parts = selection.state === 'dead' ? await partsOf(site, filter, sinks) : [];
  return site.confirm(request, reply, {
    ...retryAsk(words, back, { count: counted.count, scope, parts }),
    fields: [['all', 'yes']],
  });
}

interface Asked {
  readonly count: number;
  readonly scope: string;
  readonly parts: readonly string[];
}

function retryAsk(
  words: string,
  back: string,
  { count, scope, parts }: Asked = { count: 1, scope: '', parts: [] },
) {
  if (count === 0)
    return {
      title: 'Retry deliveries',
      question: 'There is nothing to retry',
      consequences: `The filter matches ${words}.`,
      back,
    };
  const consequences = html`<p>${scope}They are due immediately. A receiver recognises a repeat by the idempotency key, which changes only with the mapping. Deliveries to a held or paused sink still wait.</p>
    ${listOfParts(parts)}`;
  return {
    title: 'Retry deliveries',
    question: `Retry ${words}?`,
    consequences,
    confirmLabel: `Retry ${words}`,
    back,
  };
}

function retryNotice(count: number) {
  return count === 0
    ? ({
        kind: 'bad',
        text: 'Nothing was retried: none of the deliveries is still dead or pending.',
      } as const)
    : ({ kind: 'good', text: `${countOf(count, 'delivery is', 'deliveries are')} due now.` } as const);
}

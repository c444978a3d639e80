import type { FastifyReply, FastifyRequest } from 'fastify';
import { html } from 'htm/preact';
import { countOf } from '../../../platform/text/human-readable.ts';
import { DeliveryFilter } from '../../contract/deliveries.ts';
import { MAX_NOTE } from '../../contract/operations.ts';
import type { SinkOverview } from '../../contract/overview.ts';
import { countText } from '../lists/count-text.ts';
import { queryOf, readFilter } from '../lists/filters.ts';
import { withQuery } from '../parts/addresses.ts';
import { fieldsOf, type Site } from '../parts/site.ts';
import { listOfParts, partsOf } from './dead-counts.ts';
import { fieldsFor, scopeText } from './delivery-filter.ts';

/** Asks for a note, then discards the selected deliveries, or all dead ones that match the filter in the address. */
export async function discard(
  site: Site,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const query = queryOf(request);
  const back = withQuery('/deliveries', Object.fromEntries(query));
  const fields = fieldsOf(request);
  const refuse = (text: string) =>
    site.done(reply, back, { kind: 'bad', text: `Nothing was discarded: ${text}.` });
  const selected = fields.has('all') ? [] : fields.getAll('delivery');
  if (selected.length === 0 && !fields.has('all')) return refuse('no row is selected');
  const { sinks, sources } = await site.operations.overview();
  const fieldsOfFilter = fieldsFor({ sinks, sources }, query);
  const filtered = readFilter(query, fieldsOfFilter, DeliveryFilter, new Date());
  const { filter } = filtered;
  if (filter === undefined) return refuse('the filter is not valid');
  const chosen = selected.length > 0 ? { ids: selected } : { ...filter, state: 'dead' as const };
  if (fields.has('sure')) {
    const note = fields.get('note')?.trim() ?? '';
    if (note === '' || note.length > MAX_NOTE)
      return refuse(`enter a note of at most ${MAX_NOTE} characters`);
    const count = await site.operations.discard(chosen, note);
    if (count === 0) return refuse('none of the deliveries is dead any more');
    return site.done(reply, back, {
      kind: 'good',
      text: `${countOf(count, 'delivery is', 'deliveries are')} discarded.`,
    });
  }
  if (selected.length > 0) {
    const words = countOf(selected.length, 'selected delivery');
    const ask = discardAsk(words, { count: selected.length, scope: sinksOf(selected, sinks), parts: [] });
    return site.confirm(request, reply, { ...ask, back, fields: selected.map((one) => ['delivery', one]) });
  }
  const counted = await site.operations.countDeliveries({ ...filter, state: 'dead' });
  const words = countText(counted, 'dead delivery');
  const scope = scopeText(fieldsOfFilter, filtered);
  const parts = await partsOf(site, filter, sinks);
  return site.confirm(request, reply, {
    ...discardAsk(words, { count: counted.count, scope, parts }),
    back,
    fields: [['all', 'yes']],
  });
}

/** Returns the sinks of the selected deliveries, whose ids begin with them; an empty text if a sink has another name now. */
function sinksOf(selected: readonly string[], sinks: readonly SinkOverview[]): string {
  const names = [...new Set(selected.map((delivery) => delivery.split(':', 1)[0]))];
  const isKnown = names.every((name) => sinks.some(({ sink }) => sink === name));
  return isKnown ? `${names.length === 1 ? 'Sink' : 'Sinks'}: ${names.join(', ')}. ` : '';
}

interface Asked {
  readonly count: number;
  readonly scope: string;
  readonly parts: readonly string[];
}

function discardAsk(words: string, { count, scope, parts }: Asked) {
  const title = 'Discard deliveries';
  if (count === 0)
    return { title, question: 'There is nothing to discard', consequences: `The filter matches ${words}.` };
  return {
    title,
    question: `Discard ${words}?`,
    consequences: html`<p>${scope}Dead deliveries become skipped and no longer count as dead. Others stay as they are. A retry can bring them back, until <code>retention</code> removes their content.</p>
      ${listOfParts(parts)}`,
    confirmLabel: `Discard ${words}`,
    form: html`<p class="field"><label for="note">Note (required; shown as the reason; write no personal data)</label>
      <input id="note" name="note" required maxlength=${MAX_NOTE} autocomplete="off" autofocus /></p>`,
  };
}

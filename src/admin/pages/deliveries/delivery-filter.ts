import { sentence } from '../../../platform/text/human-readable.ts';
import { SelectedState } from '../../contract/deliveries.ts';
import type { Overview } from '../../contract/overview.ts';
import { type Field, filterText, type ParsedFilter, sourceField } from '../lists/filters.ts';
import { orderFieldFor } from '../lists/sorting.ts';

/** The states by which deliveries can be selected, with their labels. */
export const stateChoices = SelectedState.options.map((state) => [state, state] as const);

/** Returns the fields of the filter for deliveries. Their order depends on the state in `query`. */
export function fieldsFor(
  { sinks, sources }: Pick<Overview, 'sinks' | 'sources'>,
  query: URLSearchParams,
): readonly Field[] {
  return [
    { name: 'sink', label: 'Sink', choices: sinks.map(({ sink }) => [sink, sink] as const) },
    {
      name: 'state',
      label: 'State',
      choices: stateChoices,
    },
    { name: 'lead', label: 'Lead', number: true },
    sourceField(sources),
    { name: 'webhook_id', label: 'webhook-id' },
    { name: 'reason', label: 'Reason or HTTP status' },
    { name: 'since', label: 'Owed since', time: true },
    { name: 'until', label: 'Owed until', time: true },
    { name: 'delivered_since', label: 'Delivered since', time: true },
    { name: 'delivered_until', label: 'Delivered until', time: true },
    orderFieldFor(Object.fromEntries(query)),
  ];
}

/** Maximum length of a reason in a filter, in characters. The filter selects every reason that contains the text. */
const MAX_REASON = 200;
/** What a cut in the middle of a character leaves at the end. No address can contain it, and so the filter would select nothing. */
const HALF_A_CHARACTER = /[\ud800-\udbff]$/;

/** Returns the filter, as fields of an address, for the deliveries in a state with a reason: to one sink, or to all. */
export function reasonFilter(of: {
  readonly sink?: string | undefined;
  readonly state: string;
  readonly reason: string;
}) {
  const part = of.reason.slice(0, MAX_REASON).replace(HALF_A_CHARACTER, '');
  return { sink: of.sink, state: of.state, reason: part.trim() };
}

/** Describes the deliveries to which an action on everything in a filter applies, because a dialog may cover the filter. */
export function scopeText(fields: readonly Field[], filtered: Pick<ParsedFilter<unknown>, 'input'>): string {
  const text = filterText(fields, filtered);
  return text === ''
    ? 'No filter is set: this applies to every sink and source. '
    : `Filter: ${sentence(text)} `;
}

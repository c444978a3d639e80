import { pageParameters } from './paging.ts';
import { anIntegerText, aTime, oneOf, type Parameters } from './parameters.ts';
import { invalidV2, Refusal } from './vendor-answer.ts';

const MAX_IDS = 100;
const MAX_CUSTOM_FIELDS = 15;

/** What every list of v2 records has. */
interface Listed {
  readonly id: number;
  readonly owner_id: number;
  readonly org_id: number | null;
  readonly add_time: string;
  readonly update_time: string;
  readonly custom_fields: Readonly<Record<string, unknown>>;
}

/** The parameters that the lists of persons and deals share. */
export const listParameters: Parameters = {
  ...pageParameters,
  ids: () => undefined,
  owner_id: anIntegerText,
  org_id: anIntegerText,
  updated_since: aTime,
  updated_until: aTime,
  sort_by: oneOf('id', 'update_time', 'add_time'),
  sort_direction: oneOf('asc', 'desc'),
  include_fields: () => undefined,
  custom_fields: () => undefined,
  include_option_labels: oneOf('true', 'false'),
  include_labels: oneOf('true', 'false'),
};

/** Returns the records that the query selects, with the custom fields that it asks for. @throws Refusal 400 */
export function selected<Item extends Listed>(items: readonly Item[], query: URLSearchParams): Item[] {
  const fields = query.get('custom_fields')?.split(',');
  if (fields && fields.length > MAX_CUSTOM_FIELDS) {
    throw new Refusal(invalidV2([`custom_fields: at most ${MAX_CUSTOM_FIELDS} keys are allowed`]));
  }
  const since = timeOf(query, 'updated_since');
  const until = timeOf(query, 'updated_until');
  const owner = numberOf(query, 'owner_id');
  const organization = numberOf(query, 'org_id');
  return items
    .filter(
      (item) =>
        (owner === undefined || item.owner_id === owner) &&
        (organization === undefined || item.org_id === organization) &&
        (since === undefined || Date.parse(item.update_time) >= since) &&
        (until === undefined || Date.parse(item.update_time) < until),
    )
    .map((item) =>
      fields === undefined ? item : { ...item, custom_fields: picked(item.custom_fields, fields) },
    );
}

/** Returns the records in the order that the query asks for; `items` are in order of id. */
export function sorted<Item extends Listed>(items: readonly Item[], query: URLSearchParams): readonly Item[] {
  const by = (query.get('sort_by') ?? 'id') as 'id' | 'update_time' | 'add_time';
  const ascending =
    by === 'id' ? items : items.toSorted((a, b) => (a[by] < b[by] ? -1 : a[by] > b[by] ? 1 : 0));
  return query.get('sort_direction') === 'desc' ? ascending.toReversed() : ascending;
}

/** Returns a number of the query; undefined without it. */
export function numberOf(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name);
  return text === null ? undefined : Number(text);
}

function timeOf(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name);
  return text === null ? undefined : Date.parse(text);
}

/** Returns the ids that the query names, ascending; undefined without the parameter. @throws Refusal 400 */
export function idsOf(query: URLSearchParams): number[] | undefined {
  const ids = query.get('ids')?.split(',');
  if (ids === undefined) return undefined;
  if (ids.length > MAX_IDS) throw new Refusal(invalidV2([`ids: at most ${MAX_IDS} are allowed`]));
  if (ids.some((id) => anIntegerText(id))) throw new Refusal(invalidV2(['ids: must be integers']));
  return [...new Set(ids.map(Number))].sort((a, b) => a - b);
}

function picked(values: Readonly<Record<string, unknown>>, fields: readonly string[]) {
  return Object.fromEntries(fields.flatMap((code) => (code in values ? [[code, values[code]]] : [])));
}

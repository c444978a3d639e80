import { type MappedColumn, type MappedValue, mappedText } from '../../leads/mapped-fields.ts';
import type { Json } from '../http/json-answer.ts';
import { SinkUnavailable } from '../sink-unavailable.ts';
import { type AccountField, type AccountFields, fieldName } from './account-fields.ts';
import { type Call, calls } from './calls.ts';
import { fitted } from './fit-values.ts';
import type { FieldOwner } from './options.ts';
import type { Limits, PipedriveApi } from './pipedrive-api.ts';

/** What leadsync reads to verify a constant, and which ids the constant may have. */
interface Source {
  readonly call: Call;
  /** What the ids identify, as a phrase: `active user`. */
  readonly what: string;
  /** Whether the list comes in pages. */
  readonly isPaged: boolean;
  isUsable(item: Json): boolean;
}

const any = () => true;
const USERS: Source = {
  call: calls.listUsers,
  what: 'active user',
  isPaged: false,
  isUsable: (one) => one['active_flag'] !== false,
};
const SOURCES: Readonly<Record<string, Source>> = {
  owner_id: USERS,
  'lead.owner_id': USERS,
  'deal.owner_id': USERS,
  'lead.label_ids': { call: calls.listLeadLabels, what: 'lead label', isPaged: false, isUsable: any },
  'deal.pipeline_id': { call: calls.listPipelines, what: 'pipeline', isPaged: true, isUsable: any },
  'deal.stage_id': { call: calls.listStages, what: 'stage', isPaged: true, isUsable: any },
};

/**
 * Verifies that every constant of a mapping fits its field. Otherwise it would be left out of every lead. @throws SinkUnavailable that names the
 * fields
 */
export function requireFitting(
  columns: readonly MappedColumn[],
  fields: AccountFields,
  api: PipedriveApi,
): void {
  const faults = constantsOf(columns, fields).flatMap(({ name, field, constant }) => {
    const result = fitted(field, constant);
    return 'leftOut' in result ? [`\`${name}\`: ${result.leftOut}`] : [];
  });
  if (faults.length > 0) throw wrongMapping(api, faults);
}

/**
 * Verifies that the users, labels, pipelines and stages that a mapping names for every lead exist, because Pipedrive would refuse the lead only
 * after the person was created. Reads only the lists for which the mapping has constants. @throws SinkUnavailable that names the fields
 */
export async function requireLinks(
  columns: readonly MappedColumn[],
  fields: AccountFields,
  { api, limits }: { readonly api: PipedriveApi; readonly limits: Limits },
): Promise<void> {
  const read = new Map<Call, readonly Json[] | undefined>();
  const faults: string[] = [];
  for (const { name, field, constant } of constantsOf(columns, fields)) {
    const source = field.type === 'user' ? USERS : SOURCES[name];
    if (!source) continue;
    if (!read.has(source.call)) read.set(source.call, await readItems(api, source, limits));
    const items = read.get(source.call);
    if (!items) continue;
    const ids = items.filter(source.isUsable).map(({ id }) => String(id));
    const wanted = (Array.isArray(constant) ? constant : [constant]).map(mappedText);
    const unknown = wanted.filter((id) => !ids.includes(id));
    if (unknown.length > 0) faults.push(`\`${name}\`: there is no ${source.what} ${unknown.join(', ')}`);
  }
  if (faults.length > 0) throw wrongMapping(api, faults);
}

/** Returns the items of a list; undefined if the user of the token may not read it, so that only a delivery shows whether a constant is right. */
async function readItems(
  api: PipedriveApi,
  { call, isPaged }: Source,
  limits: Limits,
): Promise<readonly Json[] | undefined> {
  try {
    return await (isPaged ? api.all(call, {}, limits) : api.whole(call, limits));
  } catch (error) {
    if (error instanceof SinkUnavailable && error.httpStatus === 403) return undefined;
    throw error;
  }
}

function constantsOf(
  columns: readonly MappedColumn[],
  fields: AccountFields,
): readonly { readonly name: string; readonly field: AccountField; readonly constant: MappedValue }[] {
  return columns.flatMap(({ name, constant }) => {
    if (constant === undefined || mappedText(constant) === '') return [];
    const [first = '', second] = name.split('.');
    const [owner, short] = second === undefined ? ['person' as const, first] : [first as FieldOwner, second];
    const field = fields.get(owner, short);
    return field ? [{ name: fieldName(owner, field.name), field, constant }] : [];
  });
}

function wrongMapping(
  { addressee: { origin, sink } }: PipedriveApi,
  faults: readonly string[],
): SinkUnavailable {
  return new SinkUnavailable(`Pipedrive at ${origin} does not accept the mapping: ${faults.join('; ')}.`, {
    hint: `Correct the sink's \`fields\`; \`leadsync fields ${sink}\` lists the fields.`,
    unsent: true,
  });
}

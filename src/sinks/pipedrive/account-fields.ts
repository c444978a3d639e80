import type { DestinationField } from '../destination-parts.ts';
import { type Json, listOf, textOf } from '../http/json-answer.ts';
import { calls } from './calls.ts';
import { ENQUIRIES, type FieldOwner, KEY, NOTE, type PipedriveOptions, URL_FIELD } from './options.ts';
import type { Limits, PipedriveApi } from './pipedrive-api.ts';

/** A field of an object. */
export interface AccountField {
  /**
   * The name by which the option `fields` addresses it, without prefix. For a custom field, it is made from the label (`nameOfLabel`), or it is
   * `field_` and the code if that name is unusable or taken.
   */
  readonly name: string;
  /** Its name in requests: 40 hexadecimal characters for a custom field. */
  readonly code: string;
  readonly label: string;
  /** Pipedrive's type; for Pipedrive's own fields also `emails`, `integer`, `boolean`, `ids` and `note`. */
  readonly type: string;
  readonly isCustom: boolean;
  /** The options of a field that accepts no other values. */
  readonly options: readonly { readonly id: number; readonly label: string }[];
}

/** Maximum number of characters in a value, by type of field (https://pipedrive.readme.io/docs/core-api-concepts-custom-fields). */
export const MAX_LENGTHS: Readonly<Record<string, number>> = {
  varchar: 255,
  varchar_auto: 255,
  phone: 255,
  phones: 255,
  emails: 255,
  text: 65_535,
};

/** Pipedrive's own fields that its API lets a client write, with their types. */
const OWN: Readonly<Record<FieldOwner, Readonly<Record<string, string>>>> = {
  person: {
    name: 'varchar',
    email: 'emails',
    phone: 'phones',
    owner_id: 'integer',
    org_id: 'integer',
    label_ids: 'set',
    visible_to: 'integer',
    job_title: 'varchar',
    birthday: 'date',
    notes: 'text',
    postal_address: 'address',
  },
  lead: {
    title: 'varchar',
    value: 'monetary',
    owner_id: 'integer',
    organization_id: 'integer',
    label_ids: 'ids',
    expected_close_date: 'date',
    visible_to: 'varchar',
    was_seen: 'boolean',
    channel: 'integer',
    channel_id: 'varchar',
    [NOTE]: 'note',
  },
  deal: {
    title: 'varchar',
    value: 'double',
    currency: 'varchar',
    owner_id: 'integer',
    org_id: 'integer',
    pipeline_id: 'integer',
    stage_id: 'integer',
    status: 'varchar',
    probability: 'double',
    expected_close_date: 'date',
    label_ids: 'set',
    visible_to: 'integer',
    [NOTE]: 'note',
  },
};

/** The names of Pipedrive's own fields in requests, where they differ. */
const OWN_CODES: Readonly<Record<string, string>> = { email: 'emails', phone: 'phones' };
const FIXED_OPTIONS: Readonly<Record<string, readonly string[]>> = {
  'deal.status': ['open', 'won', 'lost'],
  'lead.visible_to': ['1', '3', '5', '7'],
};

/** The fields of the objects that a sink writes, as a company has them. */
export class AccountFields {
  readonly #byOwner: ReadonlyMap<FieldOwner, ReadonlyMap<string, AccountField>>;

  constructor(lists: ReadonlyMap<FieldOwner, readonly Json[]>) {
    this.#byOwner = new Map(
      [...lists].map(([owner, list]) => [
        owner,
        new Map(fieldsOf(owner, list, owner !== 'person' || lists.size === 1).map((one) => [one.name, one])),
      ]),
    );
  }

  /** Looks up a field by its name in `fields`, or by `field_` and its code. */
  get(owner: FieldOwner, name: string): AccountField | undefined {
    const fields = this.#byOwner.get(owner);
    return (
      fields?.get(name) ??
      fields?.values().find(({ code, isCustom }) => isCustom && nameOfCode(code) === name)
    );
  }

  /** Returns the name in `fields` of the field with this code: a field of the object `of`, or of the first object that has such a field. */
  nameOf(code: string, of?: FieldOwner): string | undefined {
    for (const [owner, fields] of this.#byOwner) {
      const field = fields.values().find((one) => one.code === code);
      if (field && (of === undefined || of === owner)) return fieldName(owner, field.name);
    }
    return undefined;
  }

  /** Returns the fields as `leadsync fields` lists them. `more` contains options that Pipedrive's lists of fields lack. */
  toDestinationFields(more: ReadonlyMap<string, readonly string[]> = new Map()): readonly DestinationField[] {
    return [...this.#byOwner].flatMap(([owner, fields]) =>
      [...fields.values()].map((field) => {
        const name = fieldName(owner, field.name);
        const options = more.get(name) ?? FIXED_OPTIONS[name] ?? field.options.map(({ label }) => label);
        return {
          name,
          type: field.type,
          label: field.label,
          writable: !(field.isCustom && [KEY, ENQUIRIES, URL_FIELD].includes(field.name)),
          required: false,
          maxLength: MAX_LENGTHS[field.type],
          options: options.length === 0 ? undefined : options,
        };
      }),
    );
  }
}

/** Returns the objects whose fields a sink writes. */
export function ownersOf(object: PipedriveOptions['object']): readonly FieldOwner[] {
  return object === 'none' ? ['person'] : ['person', object];
}

/** Returns the name of a field in `fields`. A field of a lead or deal has its object as a prefix. */
export function fieldName(owner: FieldOwner, name: string): string {
  return owner === 'person' ? name : `${owner}.${name}`;
}

/** Reads the fields of the objects that a sink writes. @throws SinkUnavailable */
export async function readFields(
  api: PipedriveApi,
  object: PipedriveOptions['object'],
  limits: Limits,
): Promise<AccountFields> {
  const lists = new Map<FieldOwner, readonly Json[]>();
  for (const owner of ownersOf(object)) {
    const call = owner === 'person' ? calls.listPersonFields : calls.listDealFields;
    lists.set(owner, await api.all(call, {}, limits));
  }
  return new AccountFields(lists);
}

/** Returns the ids of the pipelines and stages, by the fields of a deal that accept them. @throws SinkUnavailable */
export async function readPipelines(
  api: PipedriveApi,
  limits: Limits,
): Promise<ReadonlyMap<string, readonly string[]>> {
  const options = new Map<string, readonly string[]>();
  for (const [name, call] of [
    ['deal.pipeline_id', calls.listPipelines],
    ['deal.stage_id', calls.listStages],
  ] as const) {
    const items = await api.all(call, {}, limits);
    options.set(
      name,
      items.map(({ id }) => String(id)),
    );
  }
  return options;
}

/** Returns one of Pipedrive's own fields, without its options; undefined if Pipedrive has no such field. */
export function ownField(owner: FieldOwner, name: string): AccountField | undefined {
  const type = OWN[owner][name];
  if (type === undefined) return undefined;
  const shown = type === 'set' ? 'any' : type;
  return { name, code: OWN_CODES[name] ?? name, label: name, type: shown, isCustom: false, options: [] };
}

function fieldsOf(owner: FieldOwner, list: readonly Json[], hasNote: boolean): readonly AccountField[] {
  const listed = list.flatMap((field) => {
    const { field_code: code, field_name: label, field_type: type } = field;
    if (typeof code !== 'string') return [];
    const isCustom = field['is_custom_field'] === true;
    const options = listOf(field['options']).flatMap(({ id, label: of }) =>
      typeof id === 'number' && typeof of === 'string' ? [{ id, label: of }] : [],
    );
    return [{ code, label: textOf(label) ?? code, type: textOf(type) ?? 'varchar', isCustom, options }];
  });
  const custom = listed.filter(({ isCustom }) => isCustom);
  const optionsOf = (code: string) => listed.find((field) => field.code === code)?.options ?? [];
  const own = Object.entries({ ...OWN[owner], ...(hasNote ? { [NOTE]: 'note' } : {}) });
  const byName = new Map<string, AccountField>(
    own.map(([name, type]) => {
      const code = OWN_CODES[name] ?? name;
      const options = type === 'set' ? optionsOf(code) : [];
      return [name, { name, code, label: name, type, isCustom: false, options }];
    }),
  );
  for (const field of custom) {
    const short = nameOfLabel(field.label);
    const isName = /^\p{L}/u.test(short) && !byName.has(short);
    const name = isName ? short : nameOfCode(field.code);
    byName.set(name, { ...field, name });
  }
  return [...byName.values()];
}

/** Returns the name in `fields` for a field whose own name is unusable or taken. */
function nameOfCode(code: string): string {
  return `field_${code}`;
}

/** Returns the name in `fields` for the label of a field: `Number of rooms` is `number_of_rooms`. */
function nameOfLabel(label: string): string {
  return label
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, '_')
    .replace(/^_|_$/g, '');
}

import type { CustomFields, Field } from './custom-fields.ts';
import { type Body, isDate, isObject } from './parameters.ts';
import type { PipedriveSettings } from './settings.ts';
import { invalidV1, invalidV2, invalidValue, Refusal } from './vendor-answer.ts';

/** The values of custom fields by code, in the form of v2. */
export type FieldValues = Readonly<Record<string, unknown>>;

/** The longest text of each type. */
const LONGEST: Partial<Record<Field['field_type'], number>> = {
  varchar: 255,
  varchar_auto: 255,
  phone: 255,
  text: 65_535,
};

/** The names that v2's messages have for the types. */
const NAMES: Partial<Record<Field['field_type'], string>> = {
  double: 'numeric',
  monetary: 'monetary',
  date: 'date',
  daterange: 'date range',
  time: 'time',
  timerange: 'time range',
  enum: 'single option',
  set: 'multiple option',
  user: 'user',
  org: 'organization',
  people: 'person',
  address: 'address',
};

/** The types that v1 spreads over several keys, with the suffixes of the keys after the first. */
const SPREAD: Partial<Record<Field['field_type'], readonly string[]>> = {
  monetary: ['currency'],
  daterange: ['until'],
  time: ['timezone_name'],
  timerange: ['until', 'timezone_name'],
  address: ['country', 'locality', 'postal_code', 'route', 'street_number', 'formatted_address'],
};

/**
 * Checks `custom_fields` of a request to v2. @returns what to store: null for a field that the request clears
 * @throws Refusal 400 for an unknown code, and the undocumented status for a bad value
 */
export function valuesOfV2(
  customFields: unknown,
  fields: CustomFields,
  settings: PipedriveSettings,
): FieldValues {
  if (customFields === undefined) return {};
  if (!isObject(customFields)) throw new Refusal(invalidV2(['custom_fields: must be an object']));
  return Object.fromEntries(
    Object.entries(customFields).map(([code, value]) => {
      const field = fields.custom(code);
      if (field === undefined) {
        throw new Refusal(invalidV2([`custom_fields: Parameter '${code}' is not allowed for this request`]));
      }
      const fault = faultOf(field, value);
      if (fault) throw new Refusal(invalidValue(settings.invalidValueStatus, code, fault));
      return [
        code,
        fitted(field, value, (long) => invalidValue(settings.invalidValueStatus, code, long), settings),
      ];
    }),
  );
}

/**
 * Takes the custom fields out of a request to the leads of v1, which has them beside its own parameters.
 * @returns them in the form of v2, and the rest of the request
 * @throws Refusal 400 for a bad value, and for an unknown code unless the setting ignores it
 */
export function valuesOfV1(
  body: Body,
  fields: CustomFields,
  settings: PipedriveSettings,
): { readonly values: FieldValues; readonly rest: Body } {
  const codes = Object.keys(body).filter((name) => /^[0-9a-f]{40}(_[a-z_]+)?$/.test(name));
  const values: Record<string, unknown> = {};
  for (const code of new Set(codes.map((name) => name.slice(0, 40)))) {
    const field = fields.custom(code);
    if (field === undefined) {
      if (settings.unknownLeadField === 'ignore') continue;
      throw new Refusal(invalidV1(`"${code}" is not allowed`));
    }
    const value = gathered(field, body);
    const fault = faultOf(field, value);
    if (fault) throw new Refusal(invalidV1(`"${code}" ${fault}`));
    values[code] = fitted(field, value, (long) => invalidV1(`"${code}" ${long}`), settings);
  }
  const rest = Object.fromEntries(Object.entries(body).filter(([name]) => !codes.includes(name)));
  return { values, rest };
}

/** Returns a record as v2 shows it: without the values of fields that were deleted since. */
export function shownInV2<Kept extends { readonly custom_fields: FieldValues }>(
  record: Kept,
  fields: CustomFields,
): Kept {
  const codes = Object.keys(record.custom_fields).filter((code) => fields.custom(code));
  return {
    ...record,
    custom_fields: Object.fromEntries(codes.map((code) => [code, record.custom_fields[code]])),
  };
}

/** Returns the custom fields as leads of v1 show them: beside their own properties, without the empty ones. */
export function shownInV1(values: FieldValues, fields: CustomFields): Body {
  return Object.fromEntries(
    Object.entries(values).flatMap(([code, value]): [string, unknown][] => {
      const type = fields.custom(code)?.field_type;
      if (type === undefined || value === null) return [];
      const suffixes = SPREAD[type];
      if (suffixes && isObject(value)) {
        const more = suffixes.map((name): [string, unknown] => [`${code}_${name}`, value[name] ?? null]);
        return [[code, value['value']], ...more];
      }
      if (type === 'enum') return [[code, String(value)]];
      return [[code, Array.isArray(value) ? value.join(',') : value]];
    }),
  );
}

/** Returns a v1 value, which may lie in several keys and has ids as text, in the form of v2. */
function gathered(field: Field, body: Body): unknown {
  const value = body[field.field_code];
  const suffixes = SPREAD[field.field_type];
  if (suffixes && value !== null) {
    const more = suffixes
      .map((name): [string, unknown] => [name, body[`${field.field_code}_${name}`]])
      .filter(([, part]) => part !== undefined);
    return { value, ...Object.fromEntries(more) };
  }
  if (field.field_type === 'enum' && typeof value === 'string' && /^\d+$/.test(value)) return Number(value);
  if (field.field_type === 'set' && typeof value === 'string') return value.split(',').map(Number);
  return value;
}

/** Returns the value, cut to its field's length if the setting says so. @throws Refusal if it is too long */
function fitted(
  field: Field,
  value: unknown,
  refusal: (fault: string) => Refusal['answer'],
  settings: PipedriveSettings,
): unknown {
  const longest = LONGEST[field.field_type];
  if (longest === undefined || typeof value !== 'string' || value.length <= longest) return value;
  if (settings.tooLong === 'cut') return value.slice(0, longest);
  throw new Refusal(refusal(`length must be less than or equal to ${longest} characters long`));
}

function faultOf(field: Field, value: unknown): string | undefined {
  if (value === null) return undefined;
  const wanted = wantedOf(field, value);
  const name = NAMES[field.field_type] ?? 'text';
  return wanted && `Expected '${wanted}' as value for ${name} custom field '${field.field_code}'`;
}

/** Returns the form that the field's type wants, if the value does not have it. */
function wantedOf({ field_type: type, options }: Field, value: unknown): string | undefined {
  const isOption = (id: unknown) => options?.some((option) => option.id === id) ?? false;
  switch (type) {
    case 'double':
      return Number.isFinite(value) ? undefined : 'number';
    case 'enum':
      if (typeof value !== 'number') return 'number';
      return isOption(value) ? undefined : 'id of an option';
    case 'set':
      if (!Array.isArray(value) || value.length === 0) return 'array';
      return value.every(isOption) ? undefined : 'ids of options';
    case 'user':
    case 'org':
    case 'people':
      return Number.isSafeInteger(value) ? undefined : 'number';
    case 'date':
      return typeof value === 'string' && isDate(value) ? undefined : 'date';
    case 'monetary':
    case 'daterange':
    case 'time':
    case 'timerange':
    case 'address':
      return isObject(value) && isWhole(type, value) ? undefined : 'object';
    default:
      return typeof value === 'string' ? undefined : 'string';
  }
}

const CURRENCIES = new Set(Intl.supportedValuesOf('currency'));
const isDay = (value: unknown) => typeof value === 'string' && isDate(value);
const isHour = (value: unknown) =>
  typeof value === 'string' && /^([01]\d|2[0-3]):[0-5]\d:[0-5]\d$/.test(value);

/** Whether the text is a code of ISO 4217. */
export function isCurrency(value: unknown): boolean {
  return typeof value === 'string' && CURRENCIES.has(value);
}

function isWhole(type: Field['field_type'], { value, until, currency }: Body): boolean {
  if (type === 'monetary') return Number.isFinite(value) && isCurrency(currency);
  if (type === 'daterange') return isDay(value) && isDay(until);
  if (type === 'time') return isHour(value);
  if (type === 'timerange') return isHour(value) && isHour(until);
  return typeof value === 'string' && value !== '';
}

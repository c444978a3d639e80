import { type MappedValue, mappedText } from '../../leads/mapped-fields.ts';
import { type AccountField, MAX_LENGTHS } from './account-fields.ts';

/** What a field gets: a value in the form that Pipedrive accepts, or nothing, with the reason as a phrase. */
export type Fitted =
  | { readonly value: unknown; readonly isCut?: boolean }
  | { readonly leftOut: string }
  /** The value is not an option of the field, so an operator must decide. */
  | { readonly noOption: true };

/** The field types whose text must not be cut. */
const WHOLE_OR_NOTHING: ReadonlySet<string> = new Set(['phone', 'phones', 'emails']);

/** Fits a mapped value to a Pipedrive field. Never called with an empty value. */
export function fitted(field: AccountField, value: MappedValue): Fitted {
  switch (field.type) {
    case 'any':
      return { value: typeof value === 'number' || typeof value === 'boolean' ? value : text(value) };
    case 'double': {
      const number = numberOf(value);
      return number === undefined ? { leftOut: 'it takes a number' } : { value: number };
    }
    case 'integer':
    case 'int':
    case 'user':
    case 'org':
    case 'people': {
      const number = numberOf(value);
      return Number.isSafeInteger(number) ? { value: number } : { leftOut: 'it takes a whole number' };
    }
    case 'boolean':
      return /^(true|false)$/.test(text(value))
        ? { value: text(value) === 'true' }
        : { leftOut: 'it takes true or false' };
    case 'enum': {
      const id = optionOf(field, value);
      return id === undefined ? { noOption: true } : { value: id };
    }
    case 'set': {
      const ids = itemsOf(value).map((one) => optionOf(field, one));
      return ids.includes(undefined) ? { noOption: true } : { value: ids };
    }
    case 'ids':
      return { value: itemsOf(value).map(text) };
    case 'date': {
      const day = dayOf(text(value));
      return day === undefined ? { leftOut: 'it takes a date' } : { value: day };
    }
    case 'time': {
      const [time] = /^([01]\d|2[0-3]):[0-5]\d(:[0-5]\d)?$/.exec(text(value)) ?? [];
      if (time === undefined) return { leftOut: 'it takes a time of the day, such as 09:30' };
      return { value: { value: time.length === 5 ? `${time}:00` : time } };
    }
    case 'monetary':
      return amountOf(field, value);
    case 'daterange':
    case 'timerange':
      return isRecord(value) ? { value } : { leftOut: 'it takes a map with `value` and `until`' };
    case 'address':
      return isRecord(value) ? { value } : { value: { value: text(value) } };
    default:
      return fittedText(field, text(value));
  }
}

/** Returns the parameters for a value that consists of several parts, as a v1 request has them: `code`, `code_until`. */
export function spread(code: string, value: unknown): Readonly<Record<string, unknown>> {
  if (Array.isArray(value)) return { [code]: value.join(',') };
  if (typeof value !== 'object' || value === null) return { [code]: value };
  const parts = Object.entries(value).map(([name, part]) => [
    name === 'value' ? code : `${code}_${name}`,
    part,
  ]);
  return Object.fromEntries(parts);
}

/** Returns a mapped or stored value as a string for comparison: equal values give equal strings. */
export function comparable(value: unknown): string {
  if (value === undefined || value === null) return '';
  if (Array.isArray(value)) return value.map(comparable).join(',');
  if (typeof value !== 'object') return String(value);
  const { value: of, amount, currency, until } = value as Readonly<Record<string, unknown>>;
  return [of ?? amount, until, currency].filter((part) => part !== undefined && part !== null).join(' ');
}

function fittedText({ type }: AccountField, whole: string): Fitted {
  const max = MAX_LENGTHS[type];
  if (max === undefined || whole.length <= max) return { value: whole };
  if (WHOLE_OR_NOTHING.has(type)) return { leftOut: `it takes at most ${max} characters` };
  return { value: whole.slice(0, max).replace(/[\ud800-\udbff]$/, ''), isCut: true };
}

/** Parses an amount with its currency. Pipedrive accepts no amount without a currency. */
function amountOf({ isCustom }: AccountField, value: MappedValue): Fitted {
  const [, amount, currency] =
    isRecord(value) && !Array.isArray(value)
      ? ['', text(value['amount'] ?? value['value'] ?? ''), text(value['currency'] ?? '')]
      : (/^(-?\d+(?:\.\d+)?) ?([A-Z]{3})$/.exec(text(value)) ?? []);
  if (!amount || !Number.isFinite(Number(amount)) || !currency)
    return { leftOut: 'it takes an amount with its currency, such as "100 EUR"' };
  return { value: isCustom ? { value: Number(amount), currency } : { amount: Number(amount), currency } };
}

function numberOf(value: MappedValue): number | undefined {
  if (typeof value !== 'number' && typeof value !== 'bigint' && typeof value !== 'string') return undefined;
  const number = typeof value === 'string' && value.trim() === '' ? Number.NaN : Number(value);
  return Number.isFinite(number) ? number : undefined;
}

/** Returns the id of the option with this label, ignoring case, or with this id. */
function optionOf({ options }: AccountField, value: MappedValue): number | undefined {
  const wanted = text(value);
  const found =
    options.find(({ label }) => label === wanted) ??
    options.find(({ label }) => label.toLowerCase() === wanted.toLowerCase()) ??
    options.find(({ id }) => String(id) === wanted);
  return found?.id;
}

function itemsOf(value: MappedValue): readonly MappedValue[] {
  return Array.isArray(value) ? value : [value];
}

function dayOf(whole: string): string | undefined {
  const [day] = /^\d{4}-\d\d-\d\d(?=$|T)/.exec(whole) ?? [];
  if (day === undefined) return undefined;
  const at = new Date(`${day}T00:00:00Z`);
  return !Number.isNaN(at.getTime()) && at.toISOString().startsWith(day) ? day : undefined;
}

function isRecord(value: MappedValue): value is { readonly [key: string]: MappedValue } {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function text(value: MappedValue): string {
  return mappedText(value).toWellFormed();
}

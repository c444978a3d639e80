import { msOfDate } from '../../platform/time/parse-moment.ts';
import type { Enquiry, Value, Values } from './enquiry.ts';
import type { LeadField, LeadFields } from './lead-fields.ts';

const AS_TYPED = 'Leadsync_Email_As_Typed__c';
/** The field for values that no other field accepts. */
export const DESCRIPTION = 'Description';

/** The field types whose text must not be cut. */
const WHOLE_OR_NOTHING: ReadonlySet<string> = new Set(['email', 'phone', 'url', 'reference', 'id']);
const NUMBERS: ReadonlySet<string> = new Set(['int', 'long', 'double', 'currency', 'percent']);

/** The largest value of the type `int`. */
const LARGEST_INT = 2 ** 31 - 1;

/** What a field gets: a value, or nothing, with the reason as a phrase. */
type Fitted = { readonly value: Value; readonly cut?: boolean } | { readonly leftOut: string };

/**
 * Sets the values of an enquiry to those that the fields of the org accept, and its remarks to what was changed. Cuts a text that is too long.
 * Leaves out an address or number that its field does not accept, and keeps it in another field if one has room.
 */
export function fitValues(enquiry: Enquiry, fields: LeadFields): void {
  const values: Record<string, Value> = {};
  const remarks: string[] = [];
  const unplaced: (readonly [field: LeadField, value: Value, why: string])[] = [];
  for (const [name, value] of Object.entries(enquiry.mapped)) {
    const field = fields.get(name);
    if (field === undefined) continue;
    const result = enquiry.leftOut.has(field.name)
      ? { leftOut: 'Salesforce does not accept its value' }
      : fitted(field, value);
    if ('leftOut' in result) unplaced.push([field, value, result.leftOut]);
    else values[field.name] = result.value;
    if ('cut' in result) remarks.push(`\`${field.name}\` was cut to ${field.length} characters.`);
  }
  for (const [field, value, why] of unplaced) {
    const place = keep(values, fields, field, String(value));
    remarks.push(
      `\`${field.name}\` was left out: ${why}${place === undefined ? '' : `, so its value is only in \`${place}\``}.`,
    );
  }
  enquiry.values = values;
  enquiry.remarks = remarks;
}

function fitted(field: LeadField, value: Value): Fitted {
  if (field.type === 'boolean') {
    if (typeof value === 'boolean') return { value };
    const text = String(value).toLowerCase();
    return text === 'true' || text === 'false'
      ? { value: text === 'true' }
      : { leftOut: 'it takes true or false' };
  }
  if (NUMBERS.has(field.type)) return fittedNumber(field, value);
  if (field.type === 'date' || field.type === 'datetime') {
    const ms = msOfDate(String(value));
    if (ms === undefined) return { leftOut: `it takes a ${field.type} in ISO 8601` };
    return { value: field.type === 'date' ? String(value).slice(0, 10) : new Date(ms).toISOString() };
  }
  const text = String(value);
  if (field.length === 0 || text.length <= field.length) return { value: text };
  if (WHOLE_OR_NOTHING.has(field.type)) return { leftOut: `it takes at most ${field.length} characters` };
  return { value: cut(text, field.length), cut: true };
}

/** Fits a value to a number field. Accepts plain decimal notation only, because people do not type numbers such as `0x10` and `1e3`. */
function fittedNumber({ type }: LeadField, value: Value): Fitted {
  const isNumber = typeof value === 'number' || /^\s*[+-]?\d+(?:\.\d+)?\s*$/.test(String(value));
  const number = isNumber ? Number(value) : Number.NaN;
  if (!Number.isFinite(number)) return { leftOut: 'it takes a number' };
  if (type === 'int' && (!Number.isInteger(number) || Math.abs(number) > LARGEST_INT))
    return { leftOut: 'it takes a whole number' };
  return { value: number };
}

/** Stores a value in another field if its own field does not accept it. Returns the name of that other field; undefined if none has room. */
function keep(
  values: Record<string, Value>,
  fields: LeadFields,
  { name, label, type }: LeadField,
  text: string,
): string | undefined {
  const same = Object.entries(values).find(([, value]) => String(value).toLowerCase() === text.toLowerCase());
  if (same) return same[0];
  const asTyped = fields.get(AS_TYPED);
  if (
    type === 'email' &&
    asTyped &&
    values[AS_TYPED] === undefined &&
    fields.canWrite(AS_TYPED) &&
    text.length <= asTyped.length
  ) {
    values[AS_TYPED] = text;
    return AS_TYPED;
  }
  const description = fields.get(DESCRIPTION);
  const line = `${label}: ${text}`;
  if (
    !description ||
    !fields.canWrite(DESCRIPTION) ||
    name === DESCRIPTION ||
    line.length > description.length
  )
    return undefined;
  const room = description.length - line.length - 1;
  const before = cut(String(values[DESCRIPTION] ?? ''), Math.max(0, room));
  values[DESCRIPTION] = before === '' ? line : `${before}\n${line}`;
  return DESCRIPTION;
}

/** Cuts a text to at most `length` UTF-16 code units, without splitting a character. */
function cut(text: string, length: number): string {
  return text
    .slice(0, length)
    .replace(/[\ud800-\udbff]$/, '')
    .trimEnd();
}

/** Returns the values of a stored record in the form of `Values`, for comparison. */
export function heldValues(record: Readonly<Record<string, unknown>>, fields: LeadFields): Values {
  const held = Object.entries(record).flatMap(([name, value]): [string, Value][] => {
    if (fields.get(name)?.type === 'datetime' && !Number.isNaN(Date.parse(String(value))))
      return [[name, new Date(String(value)).toISOString()]];
    const isValue = typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
    return isValue ? [[name, value]] : [];
  });
  return Object.fromEntries(held);
}

import { type RecordError, recordError } from './answer.ts';
import type { Field } from './field.ts';
import { longId } from './record-id.ts';

/** A value as Salesforce stores it. */
export type FieldValue = string | number | boolean | null;

const DECIMAL = /^[+-]?\d+(\.\d+)?$/;
const DATE_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:?\d\d)$/;

/** Whether a text is a day of the calendar: `2026-05-03`. */
function isDay(text: string): boolean {
  const at = new Date(`${text}T00:00:00Z`);
  return /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(at.getTime()) && at.toISOString().startsWith(text);
}

/** Returns a JSON value as the field's type stores it, or the error of a value that is of another type. */
export function parseValue(field: Field, value: unknown): FieldValue | RecordError {
  if (value === null) return field.type === 'boolean' ? false : null;
  switch (field.type) {
    case 'boolean':
      return typeof value === 'boolean' ? value : wrongType('boolean', value);
    case 'int':
    case 'double': {
      const number = typeof value === 'string' && DECIMAL.test(value) ? Number(value) : value;
      if (typeof number !== 'number' || !Number.isFinite(number)) return wrongType(field.type, value);
      const isInt = Number.isInteger(number) && Math.abs(number) < 2 ** 31;
      return field.type === 'double' || isInt ? number : wrongType('int', value);
    }
    case 'date':
      return typeof value === 'string' && isDay(value) ? value : wrongType('date', value);
    case 'datetime':
      if (typeof value !== 'string' || !DATE_TIME.test(value) || !isDay(value.slice(0, 10)))
        return wrongType('datetime', value);
      return new Date(value).toISOString().replace('Z', '+0000');
    default:
      if (typeof value === 'object') return wrongType('string', value);
      // Salesforce trims texts, and an empty text is none.
      return String(value).trim() || null;
  }
}

/** Returns the error of a value that the field does not accept; undefined if it does. */
export function checkValue(field: Field, value: FieldValue): RecordError | undefined {
  if (value === null || value === '') return undefined;
  if (typeof value === 'number') return checkNumber(field, value);
  if (typeof value !== 'string') return undefined;
  if (field.length > 0 && value.length > field.length) {
    const message = `${field.label}: data value too large: ${value} (max length=${field.length})`;
    return recordError('STRING_TOO_LONG', message, [field.name]);
  }
  if (field.type === 'email' && !EMAIL.test(value))
    return recordError('INVALID_EMAIL_ADDRESS', `${field.label}: invalid email address: ${value}`, [
      field.name,
    ]);
  if (field.type === 'picklist' && field.restricted && !field.values.includes(value))
    return recordError(
      'INVALID_OR_NULL_FOR_RESTRICTED_PICKLIST',
      `${field.label}: bad value for restricted picklist field: ${value}`,
      [field.name],
    );
  if (field.type === 'reference' && longId(value) === undefined)
    return recordError('MALFORMED_ID', `${field.label}: id value of incorrect type: ${value}`, [field.name]);
  return undefined;
}

const EMAIL =
  /^[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+$/;

function checkNumber(field: Field, value: number): RecordError | undefined {
  if (Math.abs(value) < 10 ** (field.precision - field.scale)) return undefined;
  const message = `${field.label}: value outside of valid range on numeric field: ${value}`;
  return recordError('NUMBER_OUTSIDE_VALID_RANGE', message, [field.name]);
}

const TOKENS: Readonly<Record<string, string>> = {
  object: 'START_OBJECT',
  number: 'VALUE_NUMBER_INT',
  boolean: 'VALUE_TRUE',
};

function wrongType(type: string, value: unknown): RecordError {
  const token = TOKENS[typeof value] ?? 'VALUE_STRING';
  const message = `Cannot deserialize instance of ${type} from ${token} value or request may be missing a required field at [line:1, column:1]`;
  return recordError('JSON_PARSER_ERROR', message);
}

import { parseDateTime } from '../leads/parse-date-time.ts';

/** Types whose binary form is their text (for jsonb, after a version byte), with their OIDs in pg_type. */
const OIDS = { text: 25, json: 114, jsonb: 3802 } as const;
const JSONB_VERSION = 1;
const NULL_LENGTH = -1;

/** An offset of 16 hours or more. ISO 8601 allows such an offset, PostgreSQL refuses it, and no time zone has one. */
const FAR_OFFSET = /[T ].*[+-](1[6-9]|2\d)(:?\d\d)?$/i;

type Values = readonly (string | number | boolean | null)[];

/**
 * Returns an array as a parameter for `$1::type[]`. Text values use PostgreSQL's binary form (array_recv), which needs no escaping: for
 * megabytes of quotes or backslashes, pg's text form takes half a minute and gigabytes of memory. Numbers, booleans and times use the text
 * form. Years and offsets of times are converted to what PostgreSQL accepts.
 */
export function arrayParameter(type: string, values: Values): Buffer | string {
  if (isTextType(type)) return textArray(type, values);
  const spelt = type === 'timestamptz' ? values.map(timeOf) : values;
  return `{${spelt.map((value) => (value === null ? 'NULL' : `"${value}"`)).join(',')}}`;
}

function timeOf(value: Values[number]): Values[number] {
  return typeof value === 'string' ? timestamp(value) : value;
}

/** Returns an ISO 8601 date-time in a form that PostgreSQL accepts. Year 0, which some programs write for "unknown", is 1 BC in PostgreSQL. */
function timestamp(text: string): string {
  const ms = FAR_OFFSET.test(text) ? parseDateTime(text) : null;
  const near = ms === null ? text : new Date(ms).toISOString();
  return near.startsWith('0000-') ? `0001-${near.slice(5)} BC` : near;
}

function isTextType(type: string): type is keyof typeof OIDS {
  return Object.hasOwn(OIDS, type);
}

function textArray(type: keyof typeof OIDS, values: Values): Buffer {
  const version = type === 'jsonb' ? 1 : 0;
  const texts = values.map((value) => (value === null ? null : String(value)));
  const lengths = texts.map((text) => (text === null ? NULL_LENGTH : Buffer.byteLength(text) + version));
  const size = lengths.reduce((sum, length) => sum + 4 + Math.max(0, length), 0);
  // Number of dimensions, null flag and element type; then length and lower bound of the one dimension.
  const head = [1, lengths.includes(NULL_LENGTH) ? 1 : 0, OIDS[type], texts.length, 1];
  const array = Buffer.allocUnsafe(4 * head.length + size);
  let end = head.reduce((at, number) => array.writeInt32BE(number, at), 0);
  for (const [at, text] of texts.entries()) {
    end = array.writeInt32BE(lengths[at] ?? NULL_LENGTH, end);
    if (text === null) continue;
    if (version > 0) end = array.writeUInt8(JSONB_VERSION, end);
    end += array.write(text, end);
  }
  return array;
}

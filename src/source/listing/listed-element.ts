import { isAscii, isUtf8 } from 'node:buffer';
import { hash } from 'node:crypto';
import { factsOf } from '../../leads/content-facts.ts';
import { type LeadId, MAX_LEAD_ID, readIdText } from '../../leads/lead.ts';
import type { ListedElement, ListedItem } from '../../leads/listed-lead.ts';
import { SourceError } from '../contract/source.ts';
import { hasKnownEnd } from './check-element-end.ts';
import type { Element, OversizeElement, WholeElement } from './element-bytes.ts';
import { kindOf, leadShape } from './lead-shape.ts';

/** Maximum nesting of a lead. A deeper lead is rejected, because recursive code would overflow the stack. */
const MAX_NESTING = 100;
const HASH_DIGITS = 32;
const NOT_JSON = 'is not valid JSON';
const NOT_UTF_8 = 'is not valid UTF-8';

/** What is wrong with a lead, and in which field. Contains no text from the lead. */
interface Fault {
  readonly reason: string;
  readonly path: string;
}

/**
 * Returns a listing element that is parsed only when it is read. Its hash and the id at its beginning show whether its content is known, at a
 * fraction of the cost of parsing it.
 * @param position 0-based
 */
export function listedElement(element: Element, position: number): ListedElement {
  if (element.kind === 'oversize')
    return {
      position,
      id: undefined,
      hash: oversizeHash(element),
      read: () => readOversize(element, position),
    };
  const { bytes, nesting } = element;
  const hashed = hash('sha256', bytes).slice(0, HASH_DIGITS);
  const read = nesting > MAX_NESTING ? readDeep : readWhole;
  return { position, id: leadingId(bytes), hash: hashed, read: () => read(element, hashed, position) };
}

function readWhole({ bytes }: WholeElement, hash: string, position: number): ListedItem {
  const isText = isAscii(bytes) || isUtf8(bytes);
  const raw = isText ? bytes.toString('utf8') : storable(bytes);
  const parsed = parse(raw);
  if (parsed === undefined && !hasKnownEnd(bytes)) throw endless(position, isText ? NOT_JSON : NOT_UTF_8);
  if (parsed === undefined || !isText) return malformed(bytes, hash, position, isText ? NOT_JSON : NOT_UTF_8);
  const { id, fault } = check(parsed.value, raw);
  const common = { position, raw, hash };
  return fault === undefined
    ? { kind: 'lead', id, ...common, facts: factsOf(raw, parsed.value) }
    : { kind: 'rejected', id, ...fault, ...common };
}

/** Rejects only this element: its end is known, so the elements after it can be read. */
function malformed(bytes: Buffer, hash: string, position: number, reason: string): ListedItem {
  return { kind: 'rejected', id: leadingId(bytes), reason, path: '', position, raw: storable(bytes), hash };
}

function oversizeHash({ sha256 }: OversizeElement): string {
  return sha256.slice(0, HASH_DIGITS);
}

function readOversize(element: OversizeElement, position: number): ListedItem {
  const { head, size, hasKnownEnd } = element;
  const long = `is ${Math.ceil(size / 1024 ** 2)} MB long, more than max_lead_size allows`;
  if (!hasKnownEnd)
    throw endless(position, long, 'If it is a valid lead, raise max_lead_size above its size.');
  const reason = `${long}; leadsync keeps only its beginning`;
  const common = { position, raw: head, hash: oversizeHash(element) };
  return { kind: 'rejected', id: leadingId(Buffer.from(head)), reason, path: '', ...common };
}

function readDeep({ bytes, nesting }: WholeElement, hash: string, position: number): ListedItem {
  const raw = storable(bytes);
  // V8 parses JSON without recursion, so the parser can tell whether a deeply nested element is valid.
  if (parse(raw) === undefined && !hasKnownEnd(bytes)) throw endless(position, NOT_JSON);
  const reason = `is nested ${nesting} levels deep; the limit is ${MAX_NESTING}`;
  return { kind: 'rejected', id: leadingId(bytes), reason, path: '', position, raw, hash };
}

/** Returns text that every database can store: replaces invalid UTF-8 and NUL with U+FFFD. */
function storable(bytes: Buffer): string {
  return bytes.toString('utf8').replaceAll('\0', '\ufffd');
}

/** Returns undefined if the text is not JSON. Drops the parser's error, which quotes the lead. */
function parse(raw: string): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(raw) };
  } catch {
    return undefined;
  }
}

/** Returns the error for an element whose end is unknown. @param fault what is wrong with the element, as the end of a sentence */
function endless(
  position: number,
  fault: string,
  next = 'Ask the operator of the service to fix it.',
): SourceError {
  return new SourceError(
    'protocol',
    `Element ${position + 1} of the listing ${fault}, and leadsync cannot tell where it ends.`,
    { hint: `leadsync cannot read the elements after it. ${next}` },
  );
}

type Validation =
  | { readonly id: LeadId; readonly fault: undefined }
  | { readonly id: LeadId | undefined; readonly fault: Fault };

function check(value: unknown, raw: string): Validation {
  if (!isObject(value)) {
    return { id: undefined, fault: { reason: `must be an object, but is ${kindOf(value)}`, path: '' } };
  }
  const id = readId(value['id'], raw);
  if (typeof id === 'string') return { id: undefined, fault: { reason: id, path: 'id' } };
  const issue = leadShape.safeParse(value).error?.issues[0];
  return { id, fault: issue && { reason: issue.message, path: pathText(issue.path) } };
}

/** Returns the id, or a message that says what is wrong with it. */
function readId(id: unknown, raw: string): LeadId | string {
  if (id === undefined) return 'is missing';
  if (typeof id !== 'number') return `must be an integer, but is ${kindOf(id)}`;
  const written = writtenId(id, raw);
  if (!/^\d+$/.test(written)) return 'must be a positive integer written in digits';
  const exact = written.length <= 19 ? BigInt(written) : 0n;
  return exact >= 1n && exact <= MAX_LEAD_ID ? exact : `must be from 1 to ${MAX_LEAD_ID}`;
}

const SHORT_ID = /"id"\s*:\s*(\d{1,15})\s*[,}]/;

/**
 * Returns the id as it is written. A short id that a pattern finds in the text needs no second parse, because numbers of up to
 * 15 digits are exact. For any other id, the text is parsed again, which doubles the cost.
 */
function writtenId(id: number, raw: string): string {
  const short = SHORT_ID.exec(raw)?.[1];
  return short !== undefined && Number(short) === id ? short : (readIdText(raw) ?? '');
}

/** Number of bytes at the beginning of an unparsed element in which to search for its id. */
const BEGINNING_BYTES = 48;

/** Returns the id of an unparsed element, if it is the first field and has at most 15 digits. */
function leadingId(bytes: Buffer): LeadId | undefined {
  const beginning = bytes.toString('latin1', 0, BEGINNING_BYTES);
  const digits = /^\{\s*"id"\s*:\s*([1-9]\d{0,14})\s*[,}]/.exec(beginning)?.[1];
  return digits === undefined ? undefined : BigInt(digits);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * Returns a path such as `service_question_answers[2].slug`. The path contains only names from `leadShape`, because unknown fields are not
 * checked.
 */
function pathText(path: readonly PropertyKey[]): string {
  let text = '';
  for (const step of path) text += typeof step === 'number' ? `[${step}]` : `${text && '.'}${String(step)}`;
  return text;
}

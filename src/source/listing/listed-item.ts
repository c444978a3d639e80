import { isAscii, isUtf8 } from 'node:buffer';
import { hash } from 'node:crypto';
import { factsOf } from '../../leads/content-facts.ts';
import { type LeadId, MAX_LEAD_ID, readIdText } from '../../leads/lead.ts';
import type { ListedElement, ListedItem } from '../../leads/listed-lead.ts';
import { SourceError } from '../contract/source.ts';
import type { Element, OversizeElement, WholeElement } from './element-bytes.ts';
import { hasKnownEnd } from './known-end.ts';
import { kindOf, leadShape } from './lead-shape.ts';

/** Leads nested deeper are set aside unread: whatever walks a lead by recursion would die of them. */
const MAX_NESTING = 100;
const HASH_DIGITS = 32;

/** What is wrong with a lead, and where in it. Holds none of its text. */
interface Fault {
  readonly reason: string;
  readonly path: string;
}

/**
 * One element of a listing. Its hash and the id at its beginning tell whether its content is known, at a fraction of what it
 * takes to look into it.
 * @param position 0-based
 */
export function listedElement(element: Element, position: number): ListedElement {
  if (element.kind === 'oversize') {
    const item = readOversize(element, position);
    return { position, id: undefined, hash: item.hash, read: () => item };
  }
  const { bytes, nesting } = element;
  const hashed = hash('sha256', bytes).slice(0, HASH_DIGITS);
  const read = nesting > MAX_NESTING ? readDeep : readWhole;
  return { position, id: leadingId(bytes), hash: hashed, read: () => read(element, hashed, position) };
}

function readWhole({ bytes }: WholeElement, hash: string, position: number): ListedItem {
  const isText = isAscii(bytes) || isUtf8(bytes);
  const raw = isText ? bytes.toString('utf8') : storable(bytes);
  const parsed = parse(raw);
  if (parsed === undefined && !hasKnownEnd(bytes)) throw endless(position, isText ? 'JSON' : 'UTF-8');
  if (parsed === undefined || !isText) return malformed(bytes, hash, position, isText ? 'JSON' : 'UTF-8');
  const { id, fault } = check(parsed.value, raw);
  const common = { position, raw, hash };
  return fault === undefined
    ? { kind: 'lead', id, ...common, facts: factsOf(raw, parsed.value) }
    : { kind: 'rejected', id, ...fault, ...common };
}

/** An element whose end is known is set aside alone, and says nothing of those behind it. */
function malformed(bytes: Buffer, hash: string, position: number, what: 'JSON' | 'UTF-8'): ListedItem {
  const reason = `is not valid ${what}`;
  return { kind: 'rejected', id: leadingId(bytes), reason, path: '', position, raw: storable(bytes), hash };
}

function readOversize({ head, size, sha256 }: OversizeElement, position: number): ListedItem {
  const reason = `is ${Math.ceil(size / 1024 ** 2)} MB long, more than max_lead_size allows; only its beginning is kept`;
  const common = { position, raw: head, hash: sha256.slice(0, HASH_DIGITS) };
  return { kind: 'rejected', id: leadingId(Buffer.from(head)), reason, path: '', ...common };
}

function readDeep({ bytes, nesting }: WholeElement, hash: string, position: number): ListedItem {
  const raw = bytes.toString('utf8');
  const reason = `is nested ${nesting} deep, and ${MAX_NESTING} is the limit`;
  return { kind: 'rejected', id: leadingId(bytes), reason, path: '', position, raw, hash };
}

/** As text that every database can hold: what is not UTF-8, or NUL, becomes U+FFFD. */
function storable(bytes: Buffer): string {
  return bytes.toString('utf8').replaceAll('\0', '\ufffd');
}

/** Undefined where it is not JSON. The parser's own words quote the lead, so they are not passed on. */
function parse(raw: string): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(raw) };
  } catch {
    return undefined;
  }
}

function endless(position: number, what: 'JSON' | 'UTF-8'): SourceError {
  return new SourceError(
    'protocol',
    `Element ${position + 1} of the listing is not valid ${what}, and where it ends cannot be told.`,
    { hint: 'Nothing behind it can be read. This is for those who run the service to mend.' },
  );
}

type Checked =
  | { readonly id: LeadId; readonly fault: undefined }
  | { readonly id: LeadId | undefined; readonly fault: Fault };

function check(value: unknown, raw: string): Checked {
  if (!isObject(value)) {
    return { id: undefined, fault: { reason: `must be an object, and is ${kindOf(value)}`, path: '' } };
  }
  const id = readId(value['id'], raw);
  if (typeof id === 'string') return { id: undefined, fault: { reason: id, path: 'id' } };
  const issue = leadShape.safeParse(value).error?.issues[0];
  return { id, fault: issue && { reason: issue.message, path: pathText(issue.path) } };
}

/** The id, or what is wrong with it. */
function readId(id: unknown, raw: string): LeadId | string {
  if (id === undefined) return 'is missing';
  if (typeof id !== 'number') return `must be an integer, and is ${kindOf(id)}`;
  const written = writtenId(id, raw);
  if (!/^\d+$/.test(written)) return 'must be a positive integer written in digits';
  const exact = written.length <= 19 ? BigInt(written) : 0n;
  return exact >= 1n && exact <= MAX_LEAD_ID ? exact : `must be from 1 to ${MAX_LEAD_ID}`;
}

const SHORT_ID = /"id"\s*:\s*(\d{1,15})\s*[,}]/;

/**
 * The id as it is written. A short one that stands plainly in the text needs no second look, because numbers up to
 * 15 digits are exact; for others the text is parsed again, at twice the cost, keeping what is written.
 */
function writtenId(id: number, raw: string): string {
  const short = SHORT_ID.exec(raw)?.[1];
  return short !== undefined && Number(short) === id ? short : (readIdText(raw) ?? '');
}

/** How far into an element its id is looked for, when it is not looked into. */
const BEGINNING_BYTES = 48;

/** The id of an element that is not looked into: found only when it comes first, with at most 15 digits. */
function leadingId(bytes: Buffer): LeadId | undefined {
  const beginning = bytes.toString('latin1', 0, BEGINNING_BYTES);
  const digits = /^\{\s*"id"\s*:\s*([1-9]\d{0,14})\s*[,}]/.exec(beginning)?.[1];
  return digits === undefined ? undefined : BigInt(digits);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** `service_question_answers[2].slug`. Every name in it is one of ours: unknown fields are not looked into. */
function pathText(path: readonly PropertyKey[]): string {
  let text = '';
  for (const step of path) text += typeof step === 'number' ? `[${step}]` : `${text && '.'}${String(step)}`;
  return text;
}

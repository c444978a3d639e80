import { type Answer, failed } from './answer.ts';
import type { Field } from './field.ts';
import { keyOf, type ObjectTable, type StoredRecord } from './object-table.ts';
import type { Org } from './org.ts';
import type { RestRequest } from './request.ts';
import { shownRecord } from './single-records.ts';
import { type Condition, MalformedQuery, parseSoql, type Soql } from './soql.ts';

/** Records in one answer, unless the header `Sforce-Query-Options: batchSize=…` asks for other pages: 200 to 2,000. */
const PAGE = 2_000;
const SMALLEST_PAGE = 200;

/** Maximum characters of a query. */
const LONGEST_QUERY = 100_000;

interface Cursor {
  readonly table: ObjectTable;
  readonly fields: readonly Field[];
  readonly records: readonly StoredRecord[];
  readonly page: number;
}

/** Answers `query`: runs a query, and gives its further pages by `nextRecordsUrl`. */
export class Queries {
  readonly #cursors = new Map<string, Cursor>();
  readonly #org: Org;

  constructor(org: Org) {
    this.#org = org;
  }

  /** @param tables the objects that can be queried, by name */
  answer(
    request: RestRequest,
    locator: string | undefined,
    tables: (name: string) => ObjectTable | undefined,
  ): Answer {
    if (locator !== undefined) return this.#more(locator, request.version);
    const text = request.query.get('q') ?? '';
    if (text.length > LONGEST_QUERY)
      return failed(400, 'QUERY_TOO_COMPLICATED', 'SOQL statement is too long');
    try {
      return this.#run(parseSoql(text), request, tables);
    } catch (error) {
      if (error instanceof MalformedQuery) return failed(400, 'MALFORMED_QUERY', error.message);
      throw error;
    }
  }

  #run(soql: Soql, request: RestRequest, tables: (name: string) => ObjectTable | undefined): Answer {
    const table = tables(soql.object);
    if (table === undefined)
      return failed(400, 'INVALID_TYPE', `sObject type '${soql.object}' is not supported.`);
    const isCount = soql.fields.length === 1 && soql.fields[0]?.toLowerCase() === 'count()';
    const selected = isCount ? [] : soql.fields;
    const named = [
      ...selected,
      ...soql.conditions.map(({ field }) => field),
      ...(soql.orderBy ? [soql.orderBy.field] : []),
    ];
    const absent = named.find((name) => this.#org.visibleField(table, name) === undefined);
    if (absent !== undefined)
      return failed(400, 'INVALID_FIELD', `No such column '${absent}' on entity '${table.definition.name}'.`);
    const records = select(table, soql).filter(({ Id }) => !this.#org.settings.unseen.has(Id));
    if (isCount) return { status: 200, body: { totalSize: records.length, done: true, records: [] } };
    const fields = selected.flatMap((name) => this.#org.visibleField(table, name) ?? []);
    const options = String(request.headers['sforce-query-options'] ?? '');
    const wanted = Number(/batchSize\s*=\s*(\d+)/i.exec(options)?.[1] ?? PAGE);
    const page = Math.min(PAGE, Math.max(SMALLEST_PAGE, wanted));
    return this.#page({ table, fields, records, page }, 0, request.version);
  }

  #more(locator: string, version: number): Answer {
    const [id = '', from = '0'] = locator.split('-');
    const cursor = this.#cursors.get(id);
    if (cursor === undefined) return failed(400, 'INVALID_QUERY_LOCATOR', 'invalid query locator');
    return this.#page(cursor, Number(from), version, id);
  }

  #page(cursor: Cursor, from: number, version: number, id?: string): Answer {
    const { table, fields, records, page } = cursor;
    const shown = records
      .slice(from, from + page)
      .map((record) => shownRecord(table, record, version, fields));
    if (from + page >= records.length)
      return { status: 200, body: { totalSize: records.length, done: true, records: shown } };
    const name = id ?? `01g5g${String(this.#cursors.size + 1).padStart(13, '0')}`;
    this.#cursors.set(name, cursor);
    const nextRecordsUrl = `/services/data/v${version}.0/query/${name}-${from + page}`;
    return { status: 200, body: { totalSize: records.length, done: false, nextRecordsUrl, records: shown } };
  }
}

function select(table: ObjectTable, { conditions, orderBy, limit }: Soql): StoredRecord[] {
  const indexed = conditions.find(({ operator, field }) => {
    const type = table.field(field);
    return (
      (operator === 'in' || operator === '=') && (type?.externalId || type?.type === 'id' || type?.unique)
    );
  });
  const candidates = indexed === undefined ? table.all() : lookedUp(table, indexed);
  const found = candidates.filter(
    (record) => !record.IsDeleted && conditions.every((condition) => holds(table, record, condition)),
  );
  if (orderBy !== undefined) {
    const name = table.field(orderBy.field)?.name ?? '';
    found.sort((a, b) => compare(a[name] ?? null, b[name] ?? null) * (orderBy.descending ? -1 : 1));
  }
  return limit === undefined ? found : found.slice(0, limit);
}

function lookedUp(table: ObjectTable, { field, values }: Condition): StoredRecord[] {
  const column = table.field(field) as Field;
  const found = values.flatMap((value) => table.find(column, value));
  return [...new Map(found.map((record) => [record.Id, record])).values()];
}

function holds(table: ObjectTable, record: StoredRecord, { field, operator, values }: Condition): boolean {
  const column = table.field(field) as Field;
  const value = record[column.name] ?? null;
  const isOneOf = () => values.some((one) => isSame(column, value, one));
  switch (operator) {
    case '=':
    case 'in':
      return isOneOf();
    case '!=':
    case 'not in':
      return !isOneOf();
    default:
      return value !== null && isOrdered(compare(value, values[0] ?? null), operator);
  }
}

function isSame(field: Field, a: StoredRecord[string], b: StoredRecord[string]): boolean {
  if (a === null || b === null) return a === b;
  return keyOf(field, a) === keyOf(field, b);
}

function isOrdered(order: number, operator: '<' | '<=' | '>' | '>='): boolean {
  if (order === 0) return operator === '<=' || operator === '>=';
  return order < 0 ? operator.startsWith('<') : operator.startsWith('>');
}

/** Orders null first, numbers by size and texts by their lower-case form. */
function compare(a: StoredRecord[string], b: StoredRecord[string]): number {
  if (a === b) return 0;
  if (a === null) return -1;
  if (b === null) return 1;
  if (typeof a === 'number' && typeof b === 'number') return a - b;
  const [left, right] = [String(a).toLowerCase(), String(b).toLowerCase()];
  if (left === right) return 0;
  return left < right ? -1 : 1;
}

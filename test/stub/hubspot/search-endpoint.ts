import { z } from 'zod';
import type { Account } from './account.ts';
import { type ApiAnswer, type ApiRequest, parseBody } from './api-request.ts';
import type { ObjectName } from './object-types.ts';
import { printRecord } from './print-record.ts';

const filter = z.strictObject({
  propertyName: z.string(),
  operator: z.enum([
    'EQ',
    'NEQ',
    'LT',
    'LTE',
    'GT',
    'GTE',
    'IN',
    'NOT_IN',
    'HAS_PROPERTY',
    'NOT_HAS_PROPERTY',
  ]),
  value: z.string().optional(),
  values: z.array(z.string()).optional(),
});
const search = z.strictObject({
  filterGroups: z
    .array(z.strictObject({ filters: z.array(filter).max(6) }))
    .max(5)
    .optional(),
  properties: z.array(z.string()).optional(),
  limit: z.int().min(0).max(200).optional(),
  after: z.string().optional(),
  sorts: z.array(z.string()).optional(),
});

type Filter = z.output<typeof filter>;

/** `POST …/search`: finds what was written before the lag of search, as it was then. */
export function searchRecords(account: Account, object: ObjectName, { body }: ApiRequest): ApiAnswer {
  const { filterGroups = [], properties = [], limit = 10, after = '0' } = parseBody(search, body);
  const found = account.records[object]
    .searchable(account.clock.now(), account.searchLagMs)
    .filter(
      (record) =>
        filterGroups.length === 0 ||
        filterGroups.some(({ filters }) => filters.every((one) => matches(record.properties, one))),
    );
  const end = Number(after) + limit;
  const results = found.slice(Number(after), end).map((record) => printRecord(record, properties));
  const paging = end < found.length ? { paging: { next: { after: String(end) } } } : {};
  return { status: 200, body: { total: found.length, results, ...paging } };
}

function matches(properties: Readonly<Record<string, string>>, { propertyName, ...how }: Filter): boolean {
  const value = properties[propertyName];
  if (how.operator === 'HAS_PROPERTY') return value !== undefined;
  if (how.operator === 'NOT_HAS_PROPERTY') return value === undefined;
  if (how.operator === 'NEQ') return value !== how.value;
  if (how.operator === 'NOT_IN') return value === undefined || !how.values?.includes(value);
  if (value === undefined) return false;
  if (how.operator === 'IN') return how.values?.includes(value) ?? false;
  if (how.operator === 'EQ') return value === how.value;
  const order = compare(value, how.value ?? '');
  return { LT: order < 0, LTE: order <= 0, GT: order > 0, GTE: order >= 0 }[how.operator];
}

function compare(a: string, b: string): number {
  const [first, second] = [a, b].map((text) =>
    /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : Date.parse(text),
  );
  return (first ?? Number.NaN) - (second ?? Number.NaN);
}

import type { ClientBase } from 'pg';
import type { HistoryRow, StoredValue } from '../../../leads/mirrored-history.ts';
import { arrayParameter } from '../../../postgres/array-parameter.ts';
import { DELIVERED_FROM, DELIVERIES, DELIVERY_ID } from '../schema/delivery-views.ts';
import { ledgerNumber } from './ledgers.ts';
import { columnValue, parameterType, placeOf, valuesOf } from './mirrored-columns.ts';

/** The columns of `_deliveries` with their types, without `ledger_no`, which is the same for all rows of a statement. */
const COLUMNS = {
  no: 'bigint',
  lead_id: 'bigint',
  owed_at: 'timestamptz',
  first_attempt_at: 'timestamptz',
  next_attempt_at: 'timestamptz',
  settled_at: 'timestamptz',
  delivered_from: 'timestamptz',
  attempt_no: 'bigint',
  replay: 'bigint',
  sink_no: 'integer',
  lead_version: 'integer',
  content: 'integer',
  attempts: 'integer',
  duration_ms: 'integer',
  http_status: 'integer',
  event: 'text',
  state: 'text',
  source: 'text',
  reason: 'text',
  delivery_id: 'text',
  ref_object: 'text',
  ref_id: 'text',
  ref_url: 'text',
} as const;
/** The parts of a delivery's public id, in order. `event`, `replay` and `reissued` determine its ending. */
const ID = ['named', 'source', 'lead_id', 'lead_version', 'content'] as const;
const PLACES = new Map(
  [...ID, 'sink', 'event', 'replay', 'reissued'].map((name) => [name, placeOf('deliveries', name)]),
);
type ColumnName = keyof typeof COLUMNS;
const NAMES = Object.keys(COLUMNS) as ColumnName[];
/** Columns whose values the ledger no longer has after retention has removed the attempt. */
const ONCE_KNOWN: readonly string[] = ['delivered_from', 'attempt_no', 'duration_ms', 'http_status'];

/** Upserts deliveries. Writing the same rows again changes nothing. The `search_path` must be the schema. */
export async function writeDeliveries(
  client: ClientBase,
  ledger: string,
  rows: readonly HistoryRow[],
): Promise<void> {
  const { ledgerNo, isOneOfSeveral } = await ledgerNumber(client, ledger);
  if (isOneOfSeveral) await takeOver(client, ledgerNo, rows);
  const sinkNumbers = await numbersOf(client, rows);
  const own: Partial<Record<ColumnName, (row: HistoryRow, at: number) => StoredValue | number>> = {
    no: ({ no }) => no,
    sink_no: (_, at) => sinkNumbers[at] ?? null,
    content: (row) => Number.parseInt(contentOf(row) ?? '0', 16) | 0,
    delivery_id: (row) => (contentOf(row) === undefined || reissuesOf(row) > 0 ? deliveryId(row) : null),
  };
  await client.query(UPSERT, [
    ...NAMES.map((name) => {
      const make = own[name];
      return make === undefined
        ? valuesOf('deliveries', [name], rows)[0]
        : arrayParameter(COLUMNS[name], rows.map(make));
    }),
    ledgerNo,
  ]);
  const reissued = rows.filter((row) => reissuesOf(row) > 0);
  if (reissued.length > 0) await moveAttempts(client, reissued);
}

/** Moves the failed attempts of reissued deliveries to the current delivery ids. */
async function moveAttempts(client: ClientBase, rows: readonly HistoryRow[]): Promise<void> {
  const moves = rows.flatMap((row) =>
    Array.from({ length: reissuesOf(row) }, (_, count) => [deliveryId(row, count), deliveryId(row)]),
  );
  await client.query(
    `WITH given AS (SELECT * FROM unnest($1::text[], $2::text[]) AS g (former, present)),
    moved AS (DELETE FROM _attempts a USING given WHERE a.delivery_id = given.former RETURNING given.present, a.*)
    INSERT INTO _attempts (delivery_id, source, lead_id, sink, started_at, duration_ms, outcome, http_status, error, times, last_started_at,
      _leadsync_no, _leadsync_ledger)
    SELECT present, source, lead_id, sink, started_at, duration_ms, outcome, http_status, error, times, last_started_at, _leadsync_no, _leadsync_ledger
    FROM moved ON CONFLICT DO NOTHING`,
    [moves.map(([former]) => former), moves.map(([, present]) => present)],
  );
}

const UPSERT = `
  INSERT INTO _deliveries AS stored (${NAMES.join(', ')}, ledger_no)
  SELECT ${NAMES.map((name) => columnValue(COLUMNS[name], name === 'delivered_from' ? 'nullif(delivered_from, first_attempt_at)' : name)).join(', ')}, $${NAMES.length + 1}::integer
  FROM unnest(${NAMES.map((name, at) => `$${at + 1}::${parameterType(COLUMNS[name])}[]`).join(', ')}) AS given (${NAMES.join(', ')})
  ON CONFLICT (ledger_no, no) DO UPDATE SET ${NAMES.map((name) => `${name} = ${newValue(name)}`).join(', ')}
  WHERE (${NAMES.map((name) => `stored.${name}`).join(', ')}) IS DISTINCT FROM (${NAMES.map(newValue).join(', ')})`;

function newValue(name: string): string {
  return ONCE_KNOWN.includes(name)
    ? `CASE WHEN excluded.attempt_no IS NULL THEN stored.${name} ELSE excluded.${name} END`
    : `excluded.${name}`;
}

/**
 * Deletes the rows that have the ids of these deliveries and were written by another ledger, or by this ledger under other numbers. Keeps
 * the attempts that the deleted rows contain as rows of `_attempts`, unless `rows` contains the same attempt.
 */
async function takeOver(client: ClientBase, ledgerNo: number, rows: readonly HistoryRow[]): Promise<void> {
  await client.query(
    `WITH given AS MATERIALIZED (
      SELECT source, lead_id, delivery_id, ${columnValue('timestamptz', 'delivered_from')} AS delivered_from, no
      FROM unnest($1::text[], $2::bigint[], $3::${parameterType('timestamptz')}[], $4::text[], $5::bigint[])
        AS given (source, lead_id, delivered_from, delivery_id, no)
    ), d AS (
      DELETE FROM _deliveries old WHERE old.ctid = ANY (ARRAY(SELECT found.ctid FROM given CROSS JOIN LATERAL (
        SELECT d.ctid FROM ${DELIVERIES} WHERE d.lead_id = given.lead_id AND d.source = given.source
          AND (d.ledger_no, d.no) <> ($6, given.no) AND ${DELIVERY_ID} = given.delivery_id OFFSET 0) found))
      RETURNING *
    )
    INSERT INTO _attempts (delivery_id, source, lead_id, sink, started_at, duration_ms, outcome, http_status, times, _leadsync_no, _leadsync_ledger)
    SELECT ${DELIVERY_ID}, d.source, d.lead_id, s.sink, ${DELIVERED_FROM}, d.duration_ms, 'delivered', d.http_status, 1, d.attempt_no, g.ledger
    FROM d LEFT JOIN _sink_names s ON s.sink_no = d.sink_no LEFT JOIN _ledgers g ON g.ledger_no = d.ledger_no
    WHERE d.attempt_no IS NOT NULL AND NOT EXISTS (
      SELECT FROM given WHERE given.delivery_id = ${DELIVERY_ID} AND given.delivered_from = ${DELIVERED_FROM})
    ON CONFLICT DO NOTHING`,
    [
      ...valuesOf('deliveries', ['source', 'lead_id', 'delivered_from'], rows),
      arrayParameter(
        'text',
        rows.map((row) => deliveryId(row)),
      ),
      rows.map(({ no }) => no),
      ledgerNo,
    ],
  );
}

/** Returns the number of each row's sink, and assigns numbers to new names. */
async function numbersOf(client: ClientBase, rows: readonly HistoryRow[]) {
  const pairs = rows.map((row) => `${cellOf(row, 'named')}\0${cellOf(row, 'sink')}`);
  const different = [...new Set(pairs)].map((pair) => pair.split('\0'));
  const names = [different.map(([named]) => named), different.map(([, sink]) => sink)];
  const read = async () => {
    const { rows: found } = await client.query(
      `SELECT s.sink_no, g.named, g.sink FROM unnest($1::text[], $2::text[]) AS g (named, sink) LEFT JOIN _sink_names s USING (named, sink)`,
      names,
    );
    return found.some(({ sink_no }) => sink_no === null)
      ? undefined
      : new Map<string, number>(found.map(({ sink_no, named, sink }) => [`${named}\0${sink}`, sink_no]));
  };
  let known = await read();
  if (known === undefined) {
    await client.query(
      'INSERT INTO _sink_names (named, sink) SELECT * FROM unnest($1::text[], $2::text[]) ON CONFLICT DO NOTHING',
      names,
    );
    known = await read();
  }
  return pairs.map((pair) => known?.get(pair));
}

/**
 * Returns the beginning of the content's hash, which the delivery's id contains; undefined if a recovered ledger does not know the hash.
 */
function contentOf(row: HistoryRow): string | undefined {
  const content = cellOf(row, 'content') ?? '';
  return /^[0-9a-f]{8}$/.test(content) ? content : undefined;
}

/** Returns how many times a delivery got a new id. */
function reissuesOf(row: HistoryRow): number {
  return Number(cellOf(row, 'reissued') ?? 0);
}

/** Returns the public id of a delivery, formed as in the ledger's view `deliveries`, or the id that it had after fewer reissues. */
function deliveryId(row: HistoryRow, reissues = reissuesOf(row)): string {
  const replay = cellOf(row, 'replay');
  const ending = cellOf(row, 'event') === 'erased' ? ':erased' : replay === null ? '' : `:r${replay}`;
  return `${ID.map((name) => cellOf(row, name)).join(':')}${ending}${reissues > 0 ? `:m${reissues}` : ''}`;
}

function cellOf({ values }: HistoryRow, name: string): StoredValue {
  return values[PLACES.get(name) ?? -1] ?? null;
}

import type { ClientBase } from 'pg';
import type { HistoryRow, StoredValue } from '../../leads/history.ts';
import { arrayParameter } from './array-parameter.ts';
import { DELIVERED_FROM, DELIVERIES, DELIVERY_ID } from './delivery-views.ts';
import { ledgerNumber } from './ledgers.ts';
import { described, valuesOf } from './mirrored-columns.ts';

/** The columns of `_deliveries` that are written, with their types; the ledger's number is one for all rows. */
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
} as const;
/** Where each value stands in a row. */
const PLACES = new Map(described('deliveries').columns.map(({ name }, at) => [name, at]));
type ColumnName = keyof typeof COLUMNS;
const NAMES = Object.keys(COLUMNS) as ColumnName[];
/** What a ledger whose retention has removed the attempt no longer knows. */
const ONCE_KNOWN: readonly string[] = ['delivered_from', 'attempt_no', 'duration_ms', 'http_status'];

/** What of a delivery is not written as the ledger tells it. */
interface Made {
  /** The name of the sink in the id: the one that it had first. */
  readonly named: string;
  readonly content: number;
  readonly replay: string | null;
  /** Null where the other columns give it. */
  readonly deliveryId: string | null;
}

/** Writes deliveries as they are now, in the schema that is the `search_path`. Writing the same again changes nothing. */
export async function writeDeliveries(
  client: ClientBase,
  ledger: string,
  rows: readonly HistoryRow[],
): Promise<void> {
  const { ledgerNo, isOneOfSeveral } = await ledgerNumber(client, ledger);
  if (isOneOfSeveral) await takeOver(client, ledgerNo, rows);
  const made = rows.map(madeOf);
  const sinkNumbers = await numbersOf(client, rows, made);
  const own: Partial<Record<ColumnName, (at: number) => StoredValue | number>> = {
    no: (at) => rows[at]?.no ?? null,
    sink_no: (at) => sinkNumbers[at] ?? null,
    content: (at) => made[at]?.content ?? 0,
    replay: (at) => made[at]?.replay ?? null,
    delivery_id: (at) => made[at]?.deliveryId ?? null,
  };
  await client.query(UPSERT, [
    ...NAMES.map((name) => {
      const make = own[name];
      return make === undefined
        ? valuesOf('deliveries', [name], rows)[0]
        : arrayParameter(
            COLUMNS[name],
            rows.map((_, at) => make(at)),
          );
    }),
    ledgerNo,
  ]);
}

const UPSERT = `
  INSERT INTO _deliveries AS stored (${NAMES.join(', ')}, ledger_no)
  SELECT ${NAMES.map((name) => (name === 'delivered_from' ? 'nullif(delivered_from, first_attempt_at)' : name)).join(', ')}, $${NAMES.length + 1}::integer
  FROM unnest(${NAMES.map((name, at) => `$${at + 1}::${COLUMNS[name]}[]`).join(', ')}) AS given (${NAMES.join(', ')})
  ON CONFLICT (ledger_no, no) DO UPDATE SET ${NAMES.map((name) => `${name} = ${newValue(name)}`).join(', ')}
  WHERE (${NAMES.map((name) => `stored.${name}`).join(', ')}) IS DISTINCT FROM (${NAMES.map(newValue).join(', ')})`;

function newValue(name: string): string {
  return ONCE_KNOWN.includes(name)
    ? `CASE WHEN excluded.attempt_no IS NULL THEN stored.${name} ELSE excluded.${name} END`
    : `excluded.${name}`;
}

/**
 * Removes what other ledgers have brought under the ids of these deliveries, or this one under other numbers. What delivered
 * those becomes a row of its own, unless it is what delivered these.
 */
async function takeOver(client: ClientBase, ledgerNo: number, rows: readonly HistoryRow[]): Promise<void> {
  await client.query(
    `WITH given AS MATERIALIZED (
      SELECT * FROM unnest($1::text[], $2::bigint[], $3::text[], $4::timestamptz[], $5::bigint[])
        AS given (source, lead_id, delivery_id, delivered_from, no)
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
      ...valuesOf('deliveries', ['source', 'lead_id', 'delivery_id', 'delivered_from'], rows),
      rows.map(({ no }) => no),
      ledgerNo,
    ],
  );
}

/** The numbers of the rows' sinks; a name that is new gets one. */
async function numbersOf(client: ClientBase, rows: readonly HistoryRow[], made: readonly Made[]) {
  const pairs = rows.map((row, at) => [made[at]?.named ?? '', cellOf(row, 'sink') ?? ''] as const);
  const different = [...new Map(pairs.map((pair) => [pair.join('\0'), pair])).values()];
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
  return pairs.map((pair) => known?.get(pair.join('\0')));
}

/** An id is made of columns: where it is not, it is kept as it is. */
function madeOf(row: HistoryRow): Made {
  const id = cellOf(row, 'delivery_id') ?? '';
  const [event, isReplay] = [cellOf(row, 'event'), Number(cellOf(row, 'replay')) === 1];
  const lead = `:${['source', 'lead_id', 'lead_version'].map((name) => cellOf(row, name)).join(':')}:`;
  const at = id.indexOf(lead);
  const [, content, ending = '', replay] =
    /^([0-9a-f]{8})(:erased|:r(\d{1,18}))?$/.exec(id.slice(at + lead.length)) ?? [];
  const expected = event === 'erased' ? ':erased' : isReplay ? `:r${replay}` : '';
  const isMade = at > 0 && content !== undefined && ending === expected;
  return {
    named: isMade ? id.slice(0, at) : (cellOf(row, 'sink') ?? ''),
    content: isMade ? Number.parseInt(content, 16) | 0 : 0,
    replay: isReplay ? (isMade ? (replay ?? '0') : '0') : null,
    deliveryId: isMade ? null : id,
  };
}

function cellOf(row: HistoryRow | undefined, name: string): StoredValue {
  return row?.values[PLACES.get(name) ?? -1] ?? null;
}

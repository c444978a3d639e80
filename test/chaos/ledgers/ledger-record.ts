import type { Spell } from '../deed.ts';
import { observed } from '../mappings/arrival.ts';
import { MAPPED, type MappedSink } from '../mappings/form.ts';

/** A delivery that the mapping of its sink left out. Times are by `performance.now()`. */
export interface LeftOutRecord {
  readonly sink: MappedSink;
  readonly source: string;
  readonly lead: string;
  readonly delivery: string;
  readonly owedMs: number;
  readonly atMs: number;
  readonly sentMs: number;
}

/** What only the ledger records about deliveries. */
export interface LedgerRecord {
  /** Since when, by delivery, every attempt has to have the same mapping: since the first attempt that failed, or was lost. */
  readonly boundMs: ReadonlyMap<string, number>;
  /** The attempts of each delivery that ended without an answer. */
  readonly unanswered: ReadonlyMap<string, readonly Spell[]>;
  /** The attempts of each delivery that took long, as on a busy machine. */
  readonly slow: ReadonlyMap<string, readonly Spell[]>;
  /** When an attempt of a delivery was first recorded as one whose outcome is unknown, by delivery. */
  readonly lostMs: ReadonlyMap<string, number>;
  readonly leftOut: readonly LeftOutRecord[];
}

/** The tables of a ledger. Their names and columns are the same in both engines. */
export interface PrivateTables {
  rows<Row>(sql: string): Promise<Row[]>;
  /** The public id of the delivery `d` of the version `v` to the sink `s`, in SQL. */
  readonly deliveryId: string;
}

/** Attempts that take longer are slow, in ms. */
const SLOW_MS = 2_000;

interface Row {
  readonly sink: MappedSink;
  readonly source: string;
  readonly lead: string;
  readonly delivery: string;
  readonly at: number;
  readonly owed_at: number;
}

/** A number, which PostgreSQL would otherwise return as text. */
const number = (sql: string) => `CAST(${sql} AS double precision)`;

/** Reads the ledger of a stopped leadsync. */
export async function readRecord(tables: PrivateTables): Promise<LedgerRecord> {
  const sinks = MAPPED.map((sink) => `'${sink}'`);
  const read = (at: string, condition: string) =>
    tables.rows<Row>(
      `SELECT s.sink, v.source, CAST(v.id AS TEXT) AS lead, ${tables.deliveryId} AS delivery, ${number(at)} AS at, ${number('owed_at')} AS owed_at
       FROM _deliveries d JOIN _versions v ON v.version_no = d.version_no JOIN _sinks s ON s.sink_no = d.sink_no WHERE ${condition} AND s.sink IN (${sinks})`,
    );
  const failed =
    "(SELECT min(a.started_at) FROM _attempts a WHERE a.delivery_no = d.delivery_no AND a.outcome <> 'delivered')";
  const bound = await read(
    `CASE WHEN unsure_at IS NULL OR ${failed} < unsure_at THEN ${failed} ELSE unsure_at END`,
    `coalesce(unsure_at, ${failed}) IS NOT NULL`,
  );
  const lost = await read('unsure_at', 'unsure_at IS NOT NULL');
  const leftOut = await read('settled_at', "state = 'skipped' AND reason LIKE 'left out by%'");
  return {
    unanswered: await attemptsOf(
      tables,
      "a.outcome = 'unavailable' AND a.http_status IS NULL AND s.sink = 'crm'",
    ),
    slow: await attemptsOf(tables, `a.duration_ms > ${SLOW_MS}`),
    lostMs: new Map(lost.flatMap(underEachId).map(({ delivery, at }) => [delivery, observed(at)])),
    boundMs: new Map(bound.flatMap(underEachId).map(({ delivery, at }) => [delivery, observed(at)])),
    leftOut: leftOut.map(({ at, owed_at, ...of }) => ({
      ...of,
      owedMs: observed(owed_at),
      atMs: observed(at),
      sentMs: observed(at),
    })),
  };
}

/** Returns a record under each id that its delivery has had: the id ends in `:m2` after two changes, and in `:m1` after one. */
export function underEachId<Record extends { readonly delivery: string }>(record: Record): Record[] {
  const [, first = record.delivery, changes = '0'] = /^(.*):m(\d+)$/.exec(record.delivery) ?? [];
  const later = Array.from({ length: Number(changes) }, (_, index) => `${first}:m${index + 1}`);
  return [first, ...later].map((delivery) => ({ ...record, delivery }));
}

async function attemptsOf(
  { rows, deliveryId }: PrivateTables,
  condition: string,
): Promise<ReadonlyMap<string, readonly Spell[]>> {
  const attempts = await rows<{ readonly delivery: string; readonly at: number; readonly ms: number }>(
    `SELECT ${deliveryId} AS delivery, ${number('coalesce(a.last_at, a.started_at)')} AS at, ${number('a.duration_ms')} AS ms
     FROM _attempts a JOIN _deliveries d ON d.delivery_no = a.delivery_no JOIN _versions v ON v.version_no = d.version_no
     JOIN _sinks s ON s.sink_no = d.sink_no WHERE ${condition}`,
  );
  const spells = attempts.map(({ delivery, at, ms }) => ({
    delivery,
    fromMs: observed(at),
    toMs: observed(at + ms),
  }));
  return Map.groupBy(spells.flatMap(underEachId), ({ delivery }) => delivery);
}

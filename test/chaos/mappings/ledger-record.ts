import { join } from 'node:path';
import Database from 'better-sqlite3';
import { deliveryId } from '../../../src/ledger/schema/views.ts';
import type { Spell } from '../deed.ts';
import { observed } from './arrival.ts';
import { MAPPED, type MappedSink } from './form.ts';

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

/** Reads the ledger of a stopped leadsync. */
export function readLedger(dataDir: string): LedgerRecord {
  const ledger = new Database(join(dataDir, 'ledger.db'), { readonly: true });
  const read = (at: string, condition: string) =>
    ledger
      .prepare<[], Row>(
        `SELECT s.sink, v.source, CAST(v.id AS TEXT) AS lead, ${deliveryId} AS delivery, ${at} AS at, owed_at
         FROM _deliveries d JOIN _versions v ON v.version_no = d.version_no JOIN _sinks s ON s.sink_no = d.sink_no WHERE ${condition} AND s.sink IN (${MAPPED.map((sink) => `'${sink}'`)})`,
      )
      .all();
  try {
    const failed =
      "(SELECT min(a.started_at) FROM _attempts a WHERE a.delivery_no = d.delivery_no AND a.outcome <> 'delivered')";
    const bound = read(
      `min(coalesce(unsure_at, ${failed}), coalesce(${failed}, unsure_at))`,
      `coalesce(unsure_at, ${failed}) IS NOT NULL`,
    );
    const lost = read('unsure_at', 'unsure_at IS NOT NULL');
    const leftOut = read('settled_at', "state = 'skipped' AND reason LIKE 'left out by%'");
    return {
      unanswered: attemptsOf(
        ledger,
        "a.outcome = 'unavailable' AND a.http_status IS NULL AND s.sink = 'crm'",
      ),
      slow: attemptsOf(ledger, `a.duration_ms > ${SLOW_MS}`),
      lostMs: new Map(lost.flatMap(underEachId).map(({ delivery, at }) => [delivery, observed(at)])),
      boundMs: new Map(bound.flatMap(underEachId).map(({ delivery, at }) => [delivery, observed(at)])),
      leftOut: leftOut.map(({ at, owed_at, ...of }) => ({
        ...of,
        owedMs: observed(owed_at),
        atMs: observed(at),
        sentMs: observed(at),
      })),
    };
  } finally {
    ledger.close();
  }
}

/** Returns a record under each id that its delivery has had: the id ends in `:m2` after two changes, and in `:m1` after one. */
export function underEachId<Record extends { readonly delivery: string }>(record: Record): Record[] {
  const [, first = record.delivery, changes = '0'] = /^(.*):m(\d+)$/.exec(record.delivery) ?? [];
  const later = Array.from({ length: Number(changes) }, (_, index) => `${first}:m${index + 1}`);
  return [first, ...later].map((delivery) => ({ ...record, delivery }));
}

function attemptsOf(ledger: Database.Database, condition: string): ReadonlyMap<string, readonly Spell[]> {
  const attempts = ledger
    .prepare<[], { readonly delivery: string; readonly at: number; readonly ms: number }>(
      `SELECT ${deliveryId} AS delivery, coalesce(a.last_at, a.started_at) AS at, a.duration_ms AS ms
       FROM _attempts a JOIN _deliveries d ON d.delivery_no = a.delivery_no JOIN _versions v ON v.version_no = d.version_no
       JOIN _sinks s ON s.sink_no = d.sink_no WHERE ${condition}`,
    )
    .all()
    .map(({ delivery, at, ms }) => ({ delivery, fromMs: observed(at), toMs: observed(at + ms) }));
  return Map.groupBy(attempts.flatMap(underEachId), ({ delivery }) => delivery);
}

import { join } from 'node:path';
import Database from 'better-sqlite3';
import { deliveryId } from '../../../src/ledger/database/views.ts';
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

/** What the ledger says about deliveries that nobody outside can see. */
export interface LedgerRecord {
  /** When leadsync recorded, by delivery, that the delivery may have arrived. */
  readonly boundMs: ReadonlyMap<string, number>;
  readonly leftOut: readonly LeftOutRecord[];
}

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
    const bound = read('unsure_at', 'unsure_at IS NOT NULL');
    const leftOut = read('settled_at', "state = 'skipped' AND reason LIKE 'left out by%'");
    return {
      boundMs: new Map(bound.map(({ delivery, at }) => [delivery, observed(at)])),
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

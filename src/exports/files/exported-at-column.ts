import { always, type Relation } from '../../catalog/relation.ts';
import type { Rows } from '../../ledger/contract/ledger-tables.ts';

const EXPORTED_AT = always(
  '_exported_at',
  'time',
  'When this export was made; the same in all of its rows. Of several copies of a row, the one with the latest time counts.',
);

/** Returns the relation as exports write it: with `_exported_at` as its last column. */
export function withExportedAtColumn(relation: Relation): Relation {
  return { ...relation, columns: [...relation.columns, EXPORTED_AT] };
}

/** Returns the rows with the time of the export as their last cell. */
export function withExportedAt(rows: Rows, exportedAt: Date): Rows {
  const stamp = exportedAt.toISOString();
  return rows.map((row) => [...row, stamp]);
}

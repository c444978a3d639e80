import type { Delivery } from '../../../leads/delivery.ts';
import type { LeadAnswer } from '../../../leads/lead.ts';
import { type Cell, cellsOf } from '../../table/field-cells.ts';
import { type LeadColumn, rowOf } from '../../table/lead-row.ts';
import type { FieldColumns } from '../../table/table-fields.ts';
import type { Value } from '../connection/session.ts';
import { dateTimeOf } from '../sql/date-time.ts';

/** A lead as MySQL stores it. */
export interface LeadValues {
  readonly columns: Readonly<Record<LeadColumn, Value>>;
  /** The values of the lead's mapped fields, by column. */
  readonly fields: ReadonlyMap<string, Value>;
  readonly answers: readonly LeadAnswer[];
}

/** The columns of `leads` that are times. */
const TIMES = [
  'created_at',
  '_leadsync_first_seen_at',
  '_leadsync_changed_at',
  '_leadsync_last_listed_at',
] as const satisfies readonly LeadColumn[];

/**
 * Returns the row to store for a delivery. A `created_at` that is not a time becomes null, which the column then refuses. Unless `keepsRaw`,
 * omits the lead's JSON if the other columns hold everything in it.
 * @throws DoesNotFit if a field does not fit its column
 */
export function valuesOf(delivery: Delivery, columns: FieldColumns, keepsRaw: boolean): LeadValues {
  const row = rowOf(delivery);
  const times = TIMES.map((name) => [name, timeValue(row.columns[name])] as const);
  const fields = [...cellsOf(delivery.fields, columns)].map(
    ([name, cell]) => [name, sent(cell, columns.get(name) === 'time')] as const,
  );
  return {
    columns: {
      ...plainValues(row.columns),
      ...Object.fromEntries(times),
      ...(row.isWhole && !keepsRaw && { _leadsync_raw: null }),
    },
    fields: new Map(fields),
    answers: row.answers,
  };
}

function plainValues(columns: Readonly<Record<LeadColumn, Cell>>): Record<LeadColumn, Value> {
  const values = Object.entries(columns).map(([name, cell]) => [name, sent(cell, false)]);
  return Object.fromEntries(values) as Record<LeadColumn, Value>;
}

/** Returns the value to send for a cell. Whole numbers stay text, because the driver sends a number as a double, which may lose digits. */
function sent(cell: Cell, isTime: boolean): Value {
  if (isTime) return timeValue(cell);
  return typeof cell === 'boolean' ? Number(cell) : cell;
}

function timeValue(cell: Cell): string | null {
  return typeof cell === 'string' ? dateTimeOf(cell) : null;
}

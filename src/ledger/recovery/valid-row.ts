import { hash } from 'node:crypto';
import { factsOf } from '../../leads/content-facts.ts';
import type { LeadEvent } from '../../leads/delivery.ts';
import type { StoredRow, StoredValue } from './damaged-file.ts';

/** The number of hexadecimal digits in a lead's hash, as the source computes it. */
const HASH_DIGITS = 32;
/** 9999-12-31, in ms since 1970. */
const LATEST_MS = 253_402_300_799_999n;
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

/** Returns the row to store in the recovered ledger, or undefined if leadsync cannot have written this row. */
export function validRow(table: string, row: StoredRow): StoredRow | undefined {
  const hasSoundTimes =
    table === '_versions' || table === '_client_keys'
      ? isTime(row['valid_from'] ?? null) && isTime(row['first_seen_at'] ?? null)
      : Object.entries(row).every(([column, value]) => !column.endsWith('_at') || isTime(value));
  return hasSoundTimes ? (checks[table]?.(row) ?? (table in checks ? undefined : row)) : undefined;
}

const EVENTS: ReadonlySet<string> = new Set<LeadEvent>(['created', 'updated', 'erased']);

/**
 * Additional checks for individual tables, which the schema does not make. Each check returns the row, if necessary repaired in a way that
 * loses nothing, or undefined if leadsync cannot have written it.
 */
const checks: Readonly<Record<string, (row: StoredRow) => StoredRow | undefined>> = {
  _versions: soundVersion,
  _deliveries: (row) => (EVENTS.has(String(row['event'])) && positive(row, 'delivery_no') ? row : undefined),
  _sinks: (row) => ({
    ...row,
    events: areEvents(row['events']) ? row['events'] : 'created',
    health: healthAfterRecovery(row['health'] ?? null),
    config: jsonOr(null, row['config'] ?? null),
    ...('former' in row ? { former: jsonOr('[]', row['former'] ?? null) } : {}),
  }),
  _sources: (row) => ({ ...row, mark: null, config: jsonOr(null, row['config'] ?? null) }),
  _sink_activity: (row) => (parsed(row['sums'] ?? null) === undefined ? undefined : row),
  // Recovery ends a hold, but not a pause: see `healthAfterRecovery`.
  _sink_holds: (row) =>
    row['kind'] === 'held' ? { ...row, ended_at: row['ended_at'] ?? row['began_at'] ?? null } : row,
  // The text must match its hash if a poll may accept it as a lead's content. The text of other rejected leads is only displayed.
  rejected_leads: (row) =>
    row['path'] !== 'id' || row['raw'] === '' || hashOf(row['raw'] ?? null) === row['hash'] ? row : undefined,
};

/** Returns a version if its text matches its hash or leadsync removed the text. Derives the facts from the text again. */
function soundVersion(row: StoredRow): StoredRow | undefined {
  const { raw = null, id = null } = row;
  if (typeof raw !== 'string' || !positive(row, 'version_no') || !positive(row, 'version')) return undefined;
  const changed = jsonOr(null, row['changed_fields'] ?? null);
  if (raw === `{"id":${String(id)}}`) return { ...row, changed_fields: changed };
  if (hashOf(raw) !== row['hash']) return undefined;
  const { serviceSlug, createdAtMs, readable, safeRaw } = factsOf(raw);
  return {
    ...row,
    changed_fields: changed,
    service_slug: serviceSlug,
    created_at: createdAtMs,
    readable,
    safe_raw: safeRaw,
  };
}

function hashOf(raw: StoredValue): string | undefined {
  return typeof raw === 'string' ? hash('sha256', raw).slice(0, HASH_DIGITS) : undefined;
}

function positive(row: StoredRow, column: string): boolean {
  const value = row[column];
  return typeof value === 'bigint' && value > 0n;
}

/** Whether the value is a list of events, such as `created,updated`. */
function areEvents(value: StoredValue | undefined): value is string {
  return typeof value === 'string' && value.split(',').every((event) => EVENTS.has(event));
}

/** Whether the value is a time, which is in ms since 1970 in private tables and text in public tables, or null. */
function isTime(value: StoredValue): boolean {
  if (typeof value === 'string') return TIME.test(value);
  return value === null || (typeof value === 'bigint' && value >= 0n && value <= LATEST_MS);
}

function jsonOr(otherwise: string | null, value: StoredValue): string | null {
  return typeof value === 'string' && parsed(value) !== undefined ? value : otherwise;
}

/** Returns the health to store. Keeps a pause but not a hold, because the next attempts will show whether the sink works. */
function healthAfterRecovery(value: StoredValue): string {
  const health = parsed(value) as Record<string, unknown> | null | undefined;
  const { lastDeliveredAt, pausedSince, pausedReason } = health ?? {};
  const kept = isMs(pausedSince) ? { pausedSince, pausedReason: String(pausedReason ?? '') } : {};
  return JSON.stringify({ ...kept, ...(isMs(lastDeliveredAt) ? { lastDeliveredAt } : {}) });
}

function isMs(value: unknown): boolean {
  return typeof value === 'number' && value >= 0 && value <= Number(LATEST_MS);
}

function parsed(text: StoredValue): unknown {
  try {
    return typeof text === 'string' ? JSON.parse(text) : undefined;
  } catch {
    return undefined;
  }
}

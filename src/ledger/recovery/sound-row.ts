import { hash } from 'node:crypto';
import { factsOf } from '../../leads/content-facts.ts';
import type { LeadEvent } from '../../leads/delivery.ts';
import type { StoredRow, StoredValue } from './damaged-file.ts';

/** Digits of a lead's hash; see the source's reading of an element. */
const HASH_DIGITS = 32;
/** 9999-12-31, in ms since 1970. */
const LATEST_MS = 253_402_300_799_999n;
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

/** Returns a row as the recovered ledger keeps it, or undefined when it cannot be what leadsync wrote. */
export function soundRow(table: string, row: StoredRow): StoredRow | undefined {
  const hasSoundTimes =
    table === '_versions' || table === '_client_keys'
      ? isTime(row['valid_from'] ?? null) && isTime(row['first_seen_at'] ?? null)
      : Object.entries(row).every(([column, value]) => !column.endsWith('_at') || isTime(value));
  return hasSoundTimes ? (checks[table]?.(row) ?? (table in checks ? undefined : row)) : undefined;
}

const EVENTS: ReadonlySet<string> = new Set<LeadEvent>(['created', 'updated', 'erased']);

/** Rules of single tables, beside those that the schema holds. Each returns the row, repairs where that loses nothing. */
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
  // Shown as it is, unless it can become a lead's content.
  rejected_leads: (row) =>
    row['path'] !== 'id' || row['raw'] === '' || hashOf(row['raw'] ?? null) === row['hash'] ? row : undefined,
};

/** A version with the text that its hash says, or one whose text leadsync has removed. What is derived of it is derived anew. */
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

/** What a sink asks for: `created,updated`. */
function areEvents(value: StoredValue | undefined): value is string {
  return typeof value === 'string' && value.split(',').every((event) => EVENTS.has(event));
}

/** Milliseconds since 1970 in the private tables, text in the public ones. */
function isTime(value: StoredValue): boolean {
  if (typeof value === 'string') return TIME.test(value);
  return value === null || (typeof value === 'bigint' && value >= 0n && value <= LATEST_MS);
}

function jsonOr(otherwise: string | null, value: StoredValue): string | null {
  return typeof value === 'string' && parsed(value) !== undefined ? value : otherwise;
}

/** A pause stays; a hold does not: the next attempts show how the sink is. */
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

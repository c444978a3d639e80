import type { AuditFilter, AuditRow } from '../../admin/contract/audit.ts';
import { MAX_COUNTED, type Page, type PageRequest } from '../../admin/contract/operations.ts';
import { RequestError } from '../../admin/contract/request-error.ts';
import type { AuditLine, AuditStore } from '../../audit/audit-store.ts';

/** Returns a page of the audit log. @throws RequestError if the line at the cursor no longer exists */
export async function auditLines(
  audit: AuditStore,
  { since, until, ...filter }: AuditFilter,
  page: PageRequest,
): Promise<Page<AuditRow>> {
  const times = { since: dateOf(since), until: dateOf(until) };
  const found = await audit.read({ ...filter, ...times }, page);
  if (found) return { rows: found.rows.map(rowOf), next: found.next };
  throw new RequestError(
    400,
    'wrong-page',
    'This page of the audit log no longer exists.',
    'Omit `after` to begin with the newest lines.',
  );
}

/** Returns the number of lines that match the filter. */
export function countAuditLines(audit: AuditStore, { since, until, ...filter }: AuditFilter) {
  return audit.count({ ...filter, since: dateOf(since), until: dateOf(until) }, MAX_COUNTED);
}

function rowOf({ who, via, address, ...line }: AuditLine): AuditRow {
  return {
    ...line,
    who: who ?? null,
    via: via ?? null,
    address: address ?? null,
    details: { ...line.details },
  };
}

function dateOf(text: string | undefined): Date | undefined {
  return text === undefined ? undefined : new Date(text);
}

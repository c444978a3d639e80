import { onTestFinished } from 'vitest';
import type { AuditEntry } from '../../src/admin/gate/audit.ts';
import { startAdmin } from '../../src/admin/server.ts';
import { type AdminOptions, openOptions } from './asking.ts';
import { aWellLeadsync } from './well-leadsync.ts';

/** A server with pages and API until the test is over, and what it has written to its audit log. */
export async function anAuditedAdmin(options: Partial<AdminOptions> = {}) {
  const entries: AuditEntry[] = [];
  const server = await startAdmin({
    ...openOptions,
    operations: aWellLeadsync(),
    audit: async (entry) => void entries.push(entry),
    ...options,
  });
  onTestFinished(() => server.close());
  return { ...server, entries };
}

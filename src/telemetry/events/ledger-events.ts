import { printBytes, printSeconds, printSpan } from '../../platform/text/human-readable.ts';
import { eventKind } from '../event-kind.ts';
import { count } from './wording.ts';

/** Events about the ledger, its retention, its exports and its backups. */
export const ledgerEvents = {
  'ledger-failed': eventKind<{ operation: string; reason: string; hint: string }>({
    level: 'error',
    fields: ['operation', 'reason', 'hint'],
    message: ({ operation, reason, hint }) => `The ledger failed while ${operation}. ${reason} ${hint}`,
  }),

  /** The ledger was removed or replaced, so leadsync stops. `where` is its place, and `hint` the next step. */
  'ledger-replaced': eventKind<{ dataDir: string; where: string; hint: string }>({
    level: 'error',
    fields: ['dataDir', 'where', 'hint'],
    message: ({ where, hint }) =>
      `The ledger in ${where} was removed or replaced while leadsync was running. leadsync stops, because the next start would not find new records. ${hint}`,
  }),

  /** `copy` is the path of a copy of the ledger from before the upgrade. If there is no copy, `reason` says why. */
  'ledger-upgraded': eventKind<{
    fromSchema: number;
    toSchema: number;
    copy: string | undefined;
    reason: string | undefined;
  }>({
    level: 'info',
    fields: ['fromSchema', 'toSchema', 'copy', 'reason'],
    message: ({ fromSchema, toSchema, copy, reason }) =>
      `The ledger was upgraded from schema ${fromSchema} to ${toSchema}. ${copy === undefined ? `There is no copy of the ledger from before the upgrade: ${reason}.` : `${copy} is a copy of the ledger from before the upgrade, in case you go back to the earlier version of leadsync. leadsync removes it within a week.`}`,
  }),

  /** The ledger is a copy or was restored from a backup. Deliveries since the backup may be repeated. */
  'ledger-restored': eventKind<{ dataDir: string; where: string }>({
    level: 'warn',
    fields: ['dataDir', 'where'],
    message: ({ where }) =>
      `The ledger in ${where} is a copy, or was restored from a backup. Deliveries that were made after the backup may be repeated, mostly under the same idempotency keys. No action is needed; \`leadsync reconcile\` compares the sinks with the ledger.`,
  }),

  /** A long query keeps `bytes` of the write-ahead log from being written to the ledger's file. */
  'ledger-held-up': eventKind<{ bytes: number }>({
    level: 'warn',
    fields: ['bytes'],
    message: ({ bytes }) =>
      `A query has been reading the ledger for a long time, so the write-ahead log has grown to ${printBytes(bytes)}. End the query, or split it into shorter ones. Deliveries continue.`,
  }),

  /** Counts what retention removed: the content of leads, the content of earlier versions, attempts, and rejected leads. */
  retained: eventKind<{ leads: number; versions: number; attempts: number; rejected: number }>({
    level: 'info',
    fields: ['leads', 'versions', 'attempts', 'rejected'],
    message: ({ leads, versions, attempts, rejected }) =>
      `Retention removed the content of ${count(leads, 'lead')} and of ${count(versions, 'earlier version')}, and removed ${count(attempts, 'attempt')} and ${count(rejected, 'rejected lead')}. All ids are kept.`,
  }),

  /** The ledger was restored from a backup that was made before the erasure of some leads, and leadsync erased these leads again. */
  'erased-again': eventKind<{ leads: number }>({
    level: 'warn',
    fields: ['leads'],
    message: ({ leads }) =>
      `This ledger dates from before the erasure of ${count(leads, 'lead')}. leadsync erased ${leads === 1 ? 'it' : 'them'} again; \`leadsync erase --yes\` shows which places were reached.`,
  }),

  /** A scheduled export succeeded. `removed` is the number of older exports that the run removed. */
  'export-made': eventKind<{
    export: string;
    place: string;
    rows: number;
    bytes: number;
    removed: number;
    durationMs: number;
  }>({
    level: 'info',
    fields: ['export', 'place', 'rows', 'bytes', 'removed', 'durationMs'],
    message: (event) =>
      `Export ${event.export}: ${count(event.rows, 'row')} in ${event.place}, in ${printSeconds(event.durationMs)}.${event.removed > 0 ? ` Removed ${count(event.removed, 'older export')}.` : ''}`,
  }),

  /** `failures` counts the consecutive failures, including this one. */
  'export-failed': eventKind<{
    export: string;
    reason: string;
    hint: string;
    failures: number;
    retryInMs: number;
  }>({
    level: 'warn',
    fields: ['export', 'reason', 'hint', 'failures', 'retryInMs'],
    message: (event) =>
      `Export ${event.export} failed (${event.failures} in a row). ${event.reason} ${event.hint} Next attempt in ${printSpan(event.retryInMs)}; deliveries continue.`,
  }),

  /** A scheduled backup succeeded. `removed` is the number of older backups that the run removed. */
  'backup-made': eventKind<{
    backup: string;
    place: string;
    leads: number;
    bytes: number;
    removed: number;
    durationMs: number;
  }>({
    level: 'info',
    fields: ['backup', 'place', 'leads', 'bytes', 'removed', 'durationMs'],
    message: (event) =>
      `Backup ${event.backup}: ${count(event.leads, 'lead')}, ${printBytes(event.bytes)}, in ${event.place}, in ${printSeconds(event.durationMs)}.${event.removed > 0 ? ` Removed ${count(event.removed, 'older backup')}.` : ''}`,
  }),

  /** `failures` counts the consecutive failures, including this one. */
  'backup-failed': eventKind<{
    backup: string;
    reason: string;
    hint: string;
    failures: number;
    retryInMs: number;
  }>({
    level: 'error',
    fields: ['backup', 'reason', 'hint', 'failures', 'retryInMs'],
    message: (event) =>
      `Backup ${event.backup} failed (${event.failures} in a row). ${event.reason} ${event.hint} Next attempt in ${printSpan(event.retryInMs)}; deliveries continue.`,
  }),
};

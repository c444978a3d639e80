import { printBytes, printSeconds } from '../../platform/text/format.ts';
import { eventKind } from '../event-kind.ts';
import { count } from './wording.ts';

/** The ledger, what is removed from it, and the exports that are made of it. */
export const ledgerEvents = {
  'ledger-failed': eventKind<{ operation: string; reason: string; hint: string }>({
    level: 'error',
    fields: ['operation', 'reason', 'hint'],
    message: ({ operation, reason, hint }) => `The ledger failed while ${operation}. ${reason} ${hint}`,
  }),

  /** The file was removed, or another one put in its place. leadsync stops. */
  'ledger-replaced': eventKind<{ dataDir: string }>({
    level: 'error',
    fields: ['dataDir'],
    message: ({ dataDir }) =>
      `The ledger in ${dataDir} was removed or replaced while leadsync ran. What is recorded now would be in no file that the next start finds, so leadsync ends. Put the same file back, and start leadsync again. To go on with a backup, remove ledger.db-wal and ledger.db-shm first, which belong to the former ledger and would damage another, and copy the backup to ledger.db once more.`,
  }),

  /** `copy`: the file with the ledger as it was before; or `reason`: why there is none. */
  'ledger-upgraded': eventKind<{
    fromSchema: number;
    toSchema: number;
    copy: string | undefined;
    reason: string | undefined;
  }>({
    level: 'info',
    fields: ['fromSchema', 'toSchema', 'copy', 'reason'],
    message: ({ fromSchema, toSchema, copy, reason }) =>
      `The ledger was upgraded from schema ${fromSchema} to ${toSchema}. ${copy === undefined ? `No copy of it was kept as it was before: ${reason}.` : `${copy} is the ledger as it was before, in case you go back to the earlier leadsync. It is removed within a week.`}`,
  }),

  /** The ledger is a copy or was restored from a backup. What was delivered since the backup may be delivered again. */
  'ledger-restored': eventKind<{ dataDir: string }>({
    level: 'warn',
    fields: ['dataDir'],
    message: ({ dataDir }) =>
      `The ledger in ${dataDir} is a copy, or was restored from a backup. What was delivered after the backup was made may be delivered again, mostly under the same ids. There is nothing to do; \`leadsync reconcile\` compares the sinks with the ledger.`,
  }),

  /** A query that stays open keeps `bytes` of the write-ahead log from the ledger's file. */
  'ledger-held-up': eventKind<{ bytes: number }>({
    level: 'warn',
    fields: ['bytes'],
    message: ({ bytes }) =>
      `Somebody's query has held a state of the ledger for long: ${printBytes(bytes)} beside its file wait for it to end. End it, or let it ask in shorter pieces; deliveries go on meanwhile.`,
  }),

  /** How many of each were older than the configured retention, and are removed. */
  retained: eventKind<{ leads: number; versions: number; attempts: number; rejected: number }>({
    level: 'info',
    fields: ['leads', 'versions', 'attempts', 'rejected'],
    message: ({ leads, versions, attempts, rejected }) =>
      `Removed what was to be kept no longer: the content of ${count(leads, 'lead')} and of ${count(versions, 'earlier version')}, ${count(attempts, 'attempt')}, ${count(rejected, 'rejected lead')}. Every id is kept.`,
  }),

  /** The ledger was restored from a backup that is older than the erasure of these leads. */
  'erased-again': eventKind<{ leads: number }>({
    level: 'warn',
    fields: ['leads'],
    message: ({ leads }) =>
      `This ledger is from before ${count(leads, 'lead')} ${leads === 1 ? 'was' : 'were'} erased: erased once more. \`leadsync erase --yes\` says which places were reached.`,
  }),

  /** A scheduled export is complete. `removed`: how many older ones were removed. */
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
      `Export ${event.export}: ${count(event.rows, 'row')} in ${event.place}, in ${printSeconds(event.durationMs)}.${event.removed > 0 ? ` Older ones removed: ${event.removed}.` : ''}`,
  }),

  /** `failures`: how many times in a row the export has failed, this one included. */
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
      `Export ${event.export} failed (${event.failures} in a row). ${event.reason} ${event.hint} Next try in ${printSeconds(event.retryInMs)}; deliveries go on.`,
  }),
};

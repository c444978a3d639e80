import { setPriority } from 'node:os';
import { LedgerError } from '../ledger/contract/ledger-error.ts';
import { LockHeld } from '../platform/files/file-lock.ts';
import { ExportFailed } from './contract/export-failed.ts';
import { openDestination } from './destinations/open-destination.ts';
import { lockExport } from './export-lock.ts';
import { makeExport } from './export-to-destination.ts';
import { type ExportJob, type ExportResult, targetOf } from './start-export-process.ts';

// The process that an export runs in. It receives its job as a message, sends the result, and ends with its parent process.

const stop = new AbortController();
process.once('disconnect', () => stop.abort());
process.on('SIGTERM', () => stop.abort());
for (const name of ['SIGINT', 'SIGHUP']) process.on(name, () => undefined); // from a terminal; the parent process decides
process.once('message', (job) => {
  void resultOf(job as ExportJob).then((result) => {
    if (process.connected) process.send?.(result, () => process.disconnect());
  });
});

async function resultOf(job: ExportJob): Promise<ExportResult> {
  setPriority(job.niceness);
  const config = { ...job.config, target: targetOf(job) };
  try {
    // This process holds the lock, because it may briefly outlive its parent.
    const lock = lockExport(job.folder, job.config.name);
    try {
      const destination = await openDestination(config, job.folder);
      try {
        return { kind: 'made', ...(await makeExport(config, destination, job.run, stop.signal)) };
      } finally {
        destination.close();
      }
    } finally {
      lock.release();
    }
  } catch (error) {
    return failureOf(error);
  }
}

function failureOf(error: unknown): ExportResult {
  if (stop.signal.aborted) return { kind: 'stopped' };
  if (error instanceof LockHeld) return { kind: 'busy' };
  if (error instanceof ExportFailed || error instanceof LedgerError)
    return { kind: 'failed', message: error.message, hint: error.hint };
  const name = error instanceof Error ? error.name : typeof error;
  return {
    kind: 'failed',
    message: `Unexpected error (${name}).`,
    hint: 'This is a fault in leadsync: please report it.',
  };
}

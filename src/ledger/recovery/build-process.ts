import { partsOf } from '../thread/messages.ts';
import { buildRecovered } from './build.ts';
import type { BuildMessage } from './run-build.ts';

// The process that makes a recovered ledger: SQLite cannot be interrupted while it works, but a process can be ended.

const [file = '', target = '', now] = process.argv.slice(2);
const startedBy = process.ppid;
tell(resultOf(), () => process.disconnect());

function resultOf(): BuildMessage {
  try {
    return { kind: 'built', recovered: buildRecovered(file, target, Number(now), undefined, onCopied) };
  } catch (error) {
    return { kind: 'failed', failure: partsOf(error) };
  }
}

/** The next `leadsync recover` writes to the same file: whoever was started by one that was killed leaves it alone. */
function onCopied(table: string, rows: number): void {
  if (process.ppid !== startedBy) process.kill(process.pid, 'SIGKILL');
  tell({ kind: 'copied', table, rows });
}

function tell(message: BuildMessage, onSent: () => void = () => undefined): void {
  process.send?.(message, onSent);
}

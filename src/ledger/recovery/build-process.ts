import { endWithParent } from '../../platform/process/end-with-parent.ts';
import { toErrorParts } from '../thread/messages.ts';
import { buildRecovered } from './build.ts';
import type { BuildMessage } from './run-build.ts';

// The process that makes a recovered ledger: SQLite cannot be interrupted while it works, but a process can be ended.

const [file = '', target = '', now, parent] = process.argv.slice(2);
// The next `leadsync recover` writes to the same file: the process of one that was killed must leave it alone.
endWithParent(Number(parent));
tell(resultOf(), () => process.disconnect());

function resultOf(): BuildMessage {
  try {
    return { kind: 'built', recovered: buildRecovered(file, target, Number(now), undefined, onCopied) };
  } catch (error) {
    return { kind: 'failed', failure: toErrorParts(error) };
  }
}

function onCopied(table: string, rows: number): void {
  tell({ kind: 'copied', table, rows });
}

function tell(message: BuildMessage, onSent: () => void = () => undefined): void {
  process.send?.(message, onSent);
}

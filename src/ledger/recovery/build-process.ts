import { endWithParent } from '../../platform/process/end-with-parent.ts';
import { toErrorParts } from '../thread/messages.ts';
import { buildRecovered } from './build-recovered.ts';
import type { BuildMessage } from './start-build-process.ts';

// The process that builds a recovered ledger. SQLite cannot be interrupted, but a process can be killed.

const [file = '', target = '', now, parent] = process.argv.slice(2);
// The next `leadsync recover` writes to the same file, so this process must end when its parent ends.
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

import { writeSync } from 'node:fs';
import { QueryRefused } from '../../ledger/contract/ledger-tables.ts';
import { runSql } from '../../ledger/extraction/run-sql.ts';
import { endWithParent } from '../../platform/process/end-with-parent.ts';
import { explainFailure } from '../shell/explain-failure.ts';
import { writeAnswer } from './query-output.ts';
import { type QueryJob, type QueryResult, TOO_MUCH_MEMORY } from './start-query-process.ts';

// The process that runs a query. It receives its job as a message, writes the rows to standard output, and sends back the outcome.

const STDOUT = 1;
const FLUSH_CHARACTERS = 64 * 1024;

process.once('message', (job) => {
  const { parent, maxBytes } = job as QueryJob;
  endWithParent(parent, { maxBytes, signal: TOO_MUCH_MEMORY });
  process.send?.(answer(job as QueryJob), () => process.disconnect());
});

function answer({ file, sql, values, output }: QueryJob): QueryResult {
  let waiting = '';
  let result: QueryResult | undefined;
  const flush = () => {
    writeAll(waiting);
    waiting = '';
  };
  try {
    runSql(file, sql, values, (found) => {
      const written = writeAnswer(found, output, (text) => {
        waiting += text;
        if (waiting.length > FLUSH_CHARACTERS) flush();
      });
      result = { kind: 'answered', ...written };
    });
    flush();
    return result as QueryResult;
  } catch (error) {
    if (error instanceof QueryRefused) return { kind: 'refused', message: error.message };
    return { kind: 'failed', ...explainFailure(error) };
  }
}

/** Blocks until the reader has taken the text, so that even a large result needs little memory. */
function writeAll(text: string): void {
  let rest = Buffer.from(text);
  while (rest.length > 0) rest = rest.subarray(writeSync(STDOUT, rest));
}

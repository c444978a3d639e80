import { writeSync } from 'node:fs';
import { QueryRefused } from '../../ledger/contract/ledger-tables.ts';
import { runSql } from '../../ledger/extraction/run-sql.ts';
import { endWithParent } from '../../platform/process/end-with-parent.ts';
import { explainFailure } from '../shell/explain-failure.ts';
import { type Written, writeAnswer } from './query-output.ts';
import { type QueryJob, type QueryResult, TOO_MUCH_MEMORY } from './start-query-process.ts';

// The process that runs a query. It receives its job as a message, writes the rows to standard output, and sends back the outcome.

const STDOUT = 1;

process.once('message', async (job) => {
  const { parent, maxBytes } = job as QueryJob;
  endWithParent(parent, { maxBytes, signal: TOO_MUCH_MEMORY });
  const result = await answer(job as QueryJob);
  process.send?.(result, () => process.disconnect());
});

async function answer({ file, sql, values, output }: QueryJob): Promise<QueryResult> {
  let written: Written | undefined;
  try {
    await runSql(file, sql, values, async (found) => {
      written = await writeAnswer(found, output, writeAll);
    });
    return { kind: 'answered', ...(written as Written) };
  } catch (error) {
    if (error instanceof QueryRefused) return { kind: 'refused', message: error.message };
    return { kind: 'failed', ...explainFailure(error) };
  }
}

/** Blocks until the reader has taken the text, so that even a large result needs little memory. */
function writeAll(text: string): true {
  let rest = Buffer.from(text);
  while (rest.length > 0) rest = rest.subarray(writeSync(STDOUT, rest));
  return true;
}

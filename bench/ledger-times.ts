import { join } from 'node:path';
import Database from 'better-sqlite3';
import { z } from 'zod';

const time = z.string().transform((text) => Date.parse(text));

const polls = z.array(
  z.object({
    started_at: time,
    finished_at: time,
    status: z.enum(['success', 'unchanged']),
    leads_listed: z.number(),
    leads_new: z.number(),
    http_status: z.number(),
  }),
);

/** A successful poll, from the ledger's table `polls`. Times are in ms since 1970. */
export type FinishedPoll = z.output<typeof polls>[number];

/** Returns the finished polls of a ledger, oldest first. @throws Error if one of them failed */
export function finishedPolls(dataDir: string): FinishedPoll[] {
  return reading(dataDir, (ledger) =>
    polls.parse(
      ledger
        .prepare(
          `SELECT started_at, finished_at, status, leads_listed, leads_new, http_status FROM polls
           WHERE status <> 'running' ORDER BY poll_id`,
        )
        .all(),
    ),
  );
}

/**
 * Returns the times of the first attempt and of the last settled delivery at a sink, and the number of delivered leads. `owed` limits
 * this to deliveries that were recorded between two times. All times are in ms since 1970. @throws Error if there are none
 */
export function deliveryTimes(
  dataDir: string,
  sink: string,
  owed: { readonly from: number; readonly to: number } = { from: 0, to: Date.now() },
): { firstAt: number; lastAt: number; delivered: number } {
  const row = reading(dataDir, (ledger) =>
    ledger
      .prepare(
        `SELECT min(first_attempt_at) AS firstAt, max(settled_at) AS lastAt, count(*) AS delivered
         FROM deliveries WHERE sink = ? AND state = 'delivered' AND owed_at BETWEEN ? AND ?`,
      )
      .get(sink, new Date(owed.from).toISOString(), new Date(owed.to).toISOString()),
  );
  return z.object({ firstAt: time, lastAt: time, delivered: z.number() }).parse(row);
}

function reading<Result>(dataDir: string, read: (ledger: Database.Database) => Result): Result {
  // Closed after each query, because an open reader prevents checkpoints of the write-ahead log.
  const ledger = new Database(join(dataDir, 'ledger.db'), { readonly: true });
  try {
    return read(ledger);
  } finally {
    ledger.close();
  }
}

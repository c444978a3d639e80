import { join } from 'node:path';
import Database from 'better-sqlite3';
import { z } from 'zod';
import { LEDGER_SCHEMA } from './servers.ts';
import type { Workbench } from './workbench.ts';

/** A time as SQLite has it, `2026-01-31T09:00:00.000Z`, or as PostgreSQL has it, `2026-01-31 09:00:00+00`. */
const time = z.string().transform((text) => Date.parse(text.replace(' ', 'T').replace(/\+00$/, 'Z')));

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

const FINISHED = `SELECT CAST(started_at AS TEXT) AS started_at, CAST(finished_at AS TEXT) AS finished_at, status,
  CAST(leads_listed AS INTEGER) AS leads_listed, CAST(leads_new AS INTEGER) AS leads_new, http_status`;
const IN_ORDER = "WHERE status <> 'running' ORDER BY poll_id";

/** Returns the finished polls of a ledger in a file, oldest first. @throws Error if one of them failed */
export function finishedPolls(dataDir: string): FinishedPoll[] {
  return reading(dataDir, (ledger) =>
    polls.parse(ledger.prepare(`${FINISHED} FROM polls ${IN_ORDER}`).all()),
  );
}

/** Returns the finished polls of the ledger on the benchmark's server, oldest first. @throws Error if one of them failed */
export async function finishedPollsOnServer({
  servers,
}: Pick<Workbench, 'servers'>): Promise<FinishedPoll[]> {
  const { client } = await servers.database();
  const { rows } = await client.query(`${FINISHED} FROM ${LEDGER_SCHEMA}.polls ${IN_ORDER}`);
  return polls.parse(rows);
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

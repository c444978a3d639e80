import type { PoolClient, QueryResult } from 'pg';
import { isOfServer } from '../../postgres/server-error.ts';
import { BEGUN, type Begun, type Commits } from './commits.ts';
import type { Answer, Asked } from './flight.ts';

/**
 * What a transaction does. `asks`: reads, over connections that polls and deliveries do not use. `reads`: reads, over those of polls and deliveries.
 * `writes`: writes. `owes`: also takes the owing lock, without which nothing may be recorded as owed. `moves`: holds that lock, and lets no
 * other transaction write. `beats`: writes only that this process is alive.
 */
export type Mode = 'asks' | 'reads' | 'writes' | 'owes' | 'moves' | 'beats';

/** A transaction that has begun, and the answers to the statements that were sent with its beginning. */
interface Entered extends Begun {
  readonly owes: boolean;
  readonly answers: ReadonlyMap<Asked<unknown>, Answer>;
}

/** The SQLSTATEs of statements that do not fit the tables begin with this. */
const OTHER_TABLES = '42';

/** Begins a transaction, and runs the statements in `first` in the same flight if it writes. */
export async function begin(
  client: PoolClient,
  mode: Mode,
  { commits, first }: { readonly commits: Commits; readonly first: readonly Asked<unknown>[] },
): Promise<Entered> {
  const [owes, moves] = [mode === 'owes' || mode === 'moves', mode === 'moves'];
  if (mode === 'asks' || mode === 'reads')
    return { ...(await beginReading(client)), owes, answers: new Map() };
  try {
    const { answers, ...begun } = await commits.begin(client, { owes, moves, first });
    const answered = answers.map((answer, index) => [first[index] as Asked<unknown>, answer] as const);
    return { ...begun, owes, answers: new Map(answered) };
  } catch (error) {
    if (first.length === 0 || !isOfServer(error) || !error.code?.startsWith(OTHER_TABLES)) throw error;
    // A newer leadsync may have changed the tables, which the caller finds out from how the transaction begins.
    await client.query('ROLLBACK');
    return begin(client, mode, { commits, first: [] });
  }
}

/** Begins a transaction that reads one snapshot. */
async function beginReading(client: PoolClient): Promise<Begun> {
  const sql = `BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SELECT _now() AS at, ${BEGUN}`;
  const [, entered] = (await client.query(sql)) as unknown as QueryResult<Begun>[];
  return entered?.rows[0] as Begun;
}

import type { PoolClient } from 'pg';
import { LedgerError } from '../../ledger/contract/ledger-error.ts';
import { type IsDead, requireNoProcess } from './live-processes.ts';

/**
 * Requires that no process that may be alive polls, dispatches or delivers with the ledger, and lets none begin to deliver until the end of the
 * transaction. A process could not record the outcome of an attempt in an upgraded ledger, and the leads would be sent again.
 * @throws LedgerError with the code `held`
 */
export async function requireNotUsed(
  client: PoolClient,
  { where, schema }: { readonly where: string; readonly schema: string },
  isDead: IsDead,
): Promise<void> {
  await requireNoProcess(client, { where, schema, why: 'has to be upgraded for this version', isDead });
  await client.query('LOCK TABLE _batches IN EXCLUSIVE MODE');
  const { rows } = await client.query<{ holder: string; seconds: number }>(DELIVERING);
  for (const one of rows)
    if (!(await isDead(one.holder)))
      throw new LedgerError(
        'held',
        `Another leadsync is delivering with the ledger in the schema ${schema} of ${where}, and could not record the outcome if the ledger were upgraded now.`,
        `Stop every leadsync of the older version, workers too, and start this one again. If they have ended already, their last lease ends in ${Math.ceil(one.seconds)} seconds.`,
      );
}

const DELIVERING = `SELECT holder, max(leased_until - _now()) / 1000.0::float8 AS seconds FROM _batches
  WHERE lease <> 0 AND holder IS NOT NULL AND leased_until > _now() GROUP BY holder ORDER BY seconds DESC`;

import type { Vitals } from '../../ledger/contract/status-rows.ts';
import { dateOf } from '../../ledger/rules/queries/delivery-rows.ts';
import { statement } from '../database/statement.ts';
import type { Transaction } from '../database/transaction.ts';
import { IS_NEW_LEAD } from '../schema/delivery-sql.ts';
import { status } from './status-queries.ts';

/** Number of the newest deliveries of all sinks among which delivery times are measured. */
const NEWEST_DELIVERIES = 5_000;

/** Returns the inputs of alerts. Measures delivery times only for leads that are new since `recent`. */
export async function vitals(tx: Transaction, recent: Date): Promise<Vitals> {
  const { sources, sinks } = await status(tx);
  const speeds = Map.groupBy(
    await tx.rows(SPEEDS, [NEWEST_DELIVERIES, recent.getTime()]),
    ({ sink }) => sink,
  );
  const lastDead = new Map((await tx.rows(LAST_DEAD)).map(({ sink, at }) => [sink, at]));
  return {
    sources: sources.map(({ source, lastSuccessAt, leads, listed, listedLately, rejected }) => ({
      source,
      lastSuccessAt,
      leads,
      listed,
      listedLately,
      rejected,
    })),
    sinks: sinks.map(({ sink, pending, dead, oldestOwedAt, health, active, deadReason }) => ({
      sink,
      pending,
      dead,
      oldestOwedAt,
      health,
      active,
      deadReason,
      lastDeadAt: dateOf(lastDead.get(sink)),
      recentMs: (speeds.get(sink) ?? []).map(({ ms }) => ms),
    })),
  };
}

const LAST_DEAD = statement<{ sink: string; at: number | null }>(
  'last-dead',
  `SELECT s.sink, (SELECT max(d.settled_at) FROM _deliveries d WHERE d.sink_no = s.sink_no AND d.state = 'dead') AS at FROM _sinks s`,
);
const SPEEDS = statement<{ sink: string; ms: number }>(
  'recent-speeds',
  `SELECT s.sink, d.settled_at - v.first_seen_at AS ms FROM (SELECT * FROM _deliveries ORDER BY delivery_no DESC LIMIT $1) d
   JOIN _versions v ON v.version_no = d.version_no JOIN _sinks s ON s.sink_no = d.sink_no LEFT JOIN _sources o ON o.source = v.source
   WHERE d.state = 'delivered' AND d.owed_at >= $2 AND ${IS_NEW_LEAD} ORDER BY d.delivery_no`,
);

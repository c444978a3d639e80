import {
  LISTED_BEFORE,
  type NewestVersion,
  WITHOUT_TEXT,
} from '../../ledger/rules/delivering/superseding.ts';
import type { Sink } from '../database/sinks.ts';
import { statement, texts } from '../database/statement.ts';
import type { Transaction } from '../database/transaction.ts';
import { NewestContent } from './superseding.ts';

/**
 * Owes, with the next statement or the commit, new leads to the sinks that subscribe to `created`. For a sink without backfill, skips the `old` leads, which count as listed before the
 * sinks were configured.
 */
export function oweCreated(
  tx: Transaction,
  sinks: readonly Sink[],
  { old, fresh }: { readonly old: readonly number[]; readonly fresh: readonly number[] },
): void {
  const asking = sinks.filter(({ events }) => events.includes('created'));
  if (asking.length === 0 || old.length + fresh.length === 0) return;
  tx.later(OWE_CREATED, [
    asking.map(({ sinkNo }) => sinkNo),
    asking.map(({ backfill }) => backfill),
    [...old, ...fresh],
    [...old.map(() => true), ...fresh.map(() => false)],
    LISTED_BEFORE,
    tx.now,
  ]);
  for (const { sinkNo, backfill } of asking) {
    const skipped = backfill ? 0 : old.length;
    tx.count(sinkNo, 'skipped', skipped);
    tx.count(sinkNo, 'pending', old.length + fresh.length - skipped);
  }
}

/** Owes the new versions of leads to sinks: see `planNewest`. */
export async function oweUpdated(
  tx: Transaction,
  sinks: readonly Sink[],
  versions: readonly NewestVersion[],
): Promise<void> {
  if (sinks.length === 0 || versions.length === 0) return;
  const newest = await NewestContent.of(tx, versions, sinks);
  for (const sink of sinks) for (const version of versions) newest.oweNewest(sink, version);
  await newest.write(tx);
}

/** Makes deliveries pending again that were dead or skipped because the text of these versions was lost to damage. */
export async function oweRestored(tx: Transaction, versions: readonly number[]): Promise<void> {
  if (versions.length === 0) return;
  const owed = await tx.rows(OWE_RESTORED, [
    versions,
    texts(WITHOUT_TEXT.map(([state]) => state)),
    texts(WITHOUT_TEXT.map(([, reason]) => reason)),
    tx.now,
  ]);
  for (const { sink_no, before } of owed) {
    tx.count(sink_no, before, -1);
    tx.count(sink_no, 'pending', 1);
  }
}

const OWE_CREATED = statement(
  'owe-created',
  `INSERT INTO _deliveries (version_no, sink_no, event, state, reason, owed_at, next_attempt_at, settled_at)
   SELECT g.version_no, s.sink_no, 'created', CASE WHEN skips THEN 'skipped' ELSE 'pending' END, CASE WHEN skips THEN $5 END, $6,
     CASE WHEN skips THEN NULL::bigint ELSE $6 END, CASE WHEN skips THEN $6 END
   FROM unnest($1::int[], $2::boolean[]) WITH ORDINALITY AS s (sink_no, backfill, position)
   CROSS JOIN unnest($3::bigint[], $4::boolean[]) WITH ORDINALITY AS g (version_no, is_old, position)
   CROSS JOIN LATERAL (SELECT g.is_old AND NOT s.backfill AS skips) k
   ORDER BY s.position, g.position`,
);

const OWE_RESTORED = statement<{ sink_no: number; before: 'dead' | 'skipped' }>(
  'owe-restored',
  `UPDATE _deliveries d SET state = 'pending', reason = NULL, settled_at = NULL, next_attempt_at = $4
   FROM unnest($2::text[], $3::text[]) AS g (state, reason)
   WHERE d.version_no = ANY ($1::bigint[]) AND d.state = g.state AND d.reason = g.reason RETURNING d.sink_no, g.state AS before`,
);

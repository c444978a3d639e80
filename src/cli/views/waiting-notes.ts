import type { LedgerConfig } from '../../config/contract/config.ts';
import type { LedgerQueries } from '../../ledger/contract/ledger-queries.ts';
import { findStateProblems } from '../../status/find-problems.ts';
import { viewSinks } from '../../status/status-view.ts';
import { commandShown, type GlobalOptions, type Surroundings } from '../shell/context.ts';
import { problemLines } from './status-report.ts';

/**
 * Says on standard error which of these sinks (of all, when undefined) keep their leads waiting, and why: a delivery
 * that was made due goes nowhere while its sink is held back.
 */
export async function sayWhatWaits(
  config: LedgerConfig,
  ledger: LedgerQueries,
  options: GlobalOptions,
  surroundings: Surroundings,
  sinks: readonly string[] | undefined,
): Promise<void> {
  const given = { now: surroundings.clock.now(), command: commandShown(options, surroundings) };
  for (const view of viewSinks(config, await ledger.status())) {
    if (sinks !== undefined && !sinks.includes(view.name)) continue;
    if (view.state === 'healthy' || view.state === 'retrying' || !view.status?.pending) continue;
    for (const line of findStateProblems(view, given).flatMap(problemLines))
      surroundings.stderr.write(`${line}\n`);
  }
}

import type { LedgerConfig } from '../../config/contract/config.ts';
import type { LedgerQueries } from '../../ledger/contract/ledger-queries.ts';
import { findStateProblems } from '../../status/problems/find-problems.ts';
import { viewSinks } from '../../status/status-view.ts';
import { commandFormatter, type GlobalOptions, type Surroundings } from '../shell/context.ts';
import { problemLines } from './status-report.ts';

/**
 * Reports on standard error which of the given sinks hold back pending leads, and why. If `sinks` is undefined, considers all sinks. While
 * a sink is paused or held, leadsync does not attempt its deliveries, not even due ones, except for the probes of a held sink.
 */
export async function reportWaitingSinks(
  config: LedgerConfig,
  ledger: LedgerQueries,
  options: GlobalOptions,
  surroundings: Surroundings,
  sinks: readonly string[] | undefined,
): Promise<void> {
  const given = { now: surroundings.clock.now(), command: commandFormatter(options, surroundings) };
  for (const view of viewSinks(config, await ledger.status())) {
    if (sinks !== undefined && !sinks.includes(view.name)) continue;
    if (view.state === 'healthy' || view.state === 'retrying' || !view.status?.pending) continue;
    for (const line of findStateProblems(view, given).flatMap(problemLines))
      surroundings.stderr.write(`${line}\n`);
  }
}

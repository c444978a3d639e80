import type { LedgerConfig } from '../../config/contract/config.ts';
import { DEFAULT_RETRY } from '../../config/options/sink-options.ts';
import { judgeBy } from '../../delivery/judge.ts';
import type { SinkPolicy } from '../../delivery/retry-policy.ts';
import type { Ledger } from '../../ledger/contract/ledger.ts';
import { FilePlace } from './file-place.ts';
import type { LedgerPlace, OpenOptions } from './ledger-place.ts';
import { ServerPlace } from './server-place.ts';

/** Returns the place of a configuration's ledger. */
export function ledgerPlaceOf({
  dataDir,
  ledgerServer,
}: Pick<LedgerConfig, 'dataDir' | 'ledgerServer'>): LedgerPlace {
  return ledgerServer ? new ServerPlace(ledgerServer, dataDir) : new FilePlace(dataDir);
}

/** Options for opening a ledger that are not in the configuration. */
export interface LedgerParts extends Omit<OpenOptions, 'judge'> {
  /** Returns the current sinks with their policies. Absent: those of the configuration. */
  readonly sinks?: () => LedgerConfig['sinks'];
}

/** The part of a sink's configuration that the ledger uses. */
export type JudgedSink = Pick<LedgerConfig['sinks'][number], 'name' | 'retry' | 'breaker'>;

/** The policies of sinks, by name. */
export type SinkPolicies = ReadonlyMap<string, SinkPolicy>;

/** Returns the policies of these sinks. */
export function sinkPolicies(sinks: readonly JudgedSink[]): SinkPolicies {
  return new Map(sinks.map((sink) => [sink.name, policyOf(sink)]));
}

function policyOf({ retry, breaker }: JudgedSink): SinkPolicy {
  return { ...retry, breaker };
}

/** Opens the ledger of a configuration in this thread, with the policies of its sinks. @throws LedgerError */
export async function openConfiguredLedger(
  config: LedgerConfig,
  { sinks = () => config.sinks, ...options }: LedgerParts,
): Promise<Ledger> {
  const policyNamed = (name: string) => {
    const sink = sinks().find((one) => one.name === name);
    return sink ? policyOf(sink) : DEFAULT_RETRY;
  };
  return ledgerPlaceOf(config).open({ ...options, judge: judgeBy(policyNamed, options.random) });
}

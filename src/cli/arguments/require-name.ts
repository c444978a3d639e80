import type { LedgerConfig } from '../../config/contract/config.ts';
import type { LedgerStatus } from '../../ledger/contract/status-rows.ts';
import { printable } from '../../platform/text/printable.ts';
import { didYouMean } from '../../platform/text/suggest.ts';
import { CommandFailure } from '../shell/command-failure.ts';
import type { ShowCommand } from '../shell/context.ts';
import { ExitCode } from '../shell/exit-code.ts';

/** Returns the sinks in the configuration and those in the ledger. */
function sinkNames(config: Pick<LedgerConfig, 'sinks'>, { sinks }: Pick<LedgerStatus, 'sinks'>): string[] {
  return [...new Set([...config.sinks.map(({ name }) => name), ...sinks.map(({ sink }) => sink)])];
}

/** Returns every source that a command may name: those in the configuration and those in the ledger. */
export function sourceNames(config: LedgerConfig, { sources }: Pick<LedgerStatus, 'sources'>): string[] {
  return [...new Set([...config.sources.map(({ name }) => name), ...sources.map(({ source }) => source)])];
}

/**
 * Refuses an unknown sink. `status` is absent for a command that needs the sink's options: only the configuration has those.
 * @throws CommandFailure with the new name of a renamed sink, or with the most similar name, and the list of names
 */
export function requireSink(
  name: string | undefined,
  config: Pick<LedgerConfig, 'sinks'>,
  status: Pick<LedgerStatus, 'sinks'> = { sinks: [] },
): void {
  const known = sinkNames(config, status);
  const renamed = config.sinks.find(({ formerly }) => formerly === name);
  if (name === undefined || renamed === undefined || known.includes(name)) requireName('sink', name, known);
  else
    throw new CommandFailure(
      ExitCode.usage,
      `There is no sink "${printable(name)}": it was renamed to ${printable(renamed.name)}.`,
      `The sinks are: ${known.join(', ')}.`,
    );
}

/** Refuses an unknown sink, source, export or backup. @throws CommandFailure with the most similar name and the list of names */
export function requireName(
  kind: 'sink' | 'source' | 'export' | 'backup',
  name: string | undefined,
  known: readonly string[],
): void {
  if (name === undefined || known.includes(name)) return;
  const nearest = didYouMean(name, known);
  const all = known.length === 0 ? `There are no ${kind}s.` : `The ${kind}s are: ${known.join(', ')}.`;
  throw new CommandFailure(
    ExitCode.usage,
    `There is no ${kind} "${printable(name)}"${nearest ? `: ${nearest}` : '.'}`,
    all,
  );
}

/** Returns the failure for a sink that is in the configuration, but not yet in the ledger. */
export function sinkNotInLedger(sink: string, command: ShowCommand): CommandFailure {
  return new CommandFailure(
    ExitCode.notDone,
    `${printable(sink)} is configured, but leadsync has not run with it yet: nothing is owed to it.`,
    `Run ${command('run')} or ${command('sync')} first. To keep the sink from starting, set \`enabled: false\`.`,
  );
}

import type { Config, LedgerConfig } from '../../config/contract/config.ts';
import type { ConfigValue } from '../../config/effective-values.ts';
import { describeConfig, loadConfig, loadDespiteFaults, loadLedgerConfig } from '../../config/load-config.ts';
import { ExportStates } from '../../exports/export-states.ts';
import type { Ledger } from '../../ledger/contract/ledger.ts';
import { openConfiguredLedger } from '../../operations/opening/open-ledger.ts';
import { disk } from '../../platform/files/files.ts';
import { asTyped, startCommand, typedCommand } from '../../platform/process/typed-command.ts';
import { countOf } from '../../platform/text/format.ts';
import { printable } from '../../platform/text/printable.ts';
import type { Clock, Random } from '../../platform/time/clock.ts';
import { sinkTypes } from '../../sinks/registry.ts';
import type { LogStream } from '../../telemetry/logger.ts';
import { defaultConfigFile } from './default-config.ts';

/** What a command has of its surroundings. Standard output is data, standard error is messages. */
export interface Surroundings {
  /** `columns` and `rows`: of its terminal, where it is one. */
  readonly stdout: LogStream & {
    readonly columns?: number;
    readonly rows?: number;
    on?(event: 'resize', listener: () => void): unknown;
  };
  readonly stderr: LogStream;
  /** `setRawMode`: where it is a terminal, lets every key through by itself. */
  readonly stdin: NodeJS.ReadableStream & { readonly isTTY?: boolean; setRawMode?(raw: boolean): unknown };
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  readonly random: Random;
}

/** The options before or after any command. */
export interface GlobalOptions {
  readonly config: string;
}

/** Gives a command as it is shown to people, from its words: `status`. */
export type ShowCommand = (words: string) => string;

/** Shows commands that are the next step as this user types them, with `-c` where the present one was given it: without it they would mean another ledger. */
export function commandShown({ config }: GlobalOptions, { env }: Pick<Surroundings, 'env'>): ShowCommand {
  const option = config === defaultConfigFile(env) ? '' : ` -c ${shellWord(printable(config))}`;
  const start = startCommand(env);
  return (words) =>
    words === 'run' && start !== undefined ? `\`${start}\`` : `\`${typedCommand(env)} ${words}${option}\``;
}

/** Gives a text for people, on standard output, with its commands as this user types them. Standard error is rewritten as a whole. */
export function asTypedHere(text: string, { env }: Pick<Surroundings, 'env'>): string {
  return asTyped(text, env);
}

/** How wide standard output is; undefined where nobody looks at it on a terminal. */
export function widthOf({ stdout }: Surroundings): number | undefined {
  return stdout.isTTY === true ? stdout.columns : undefined;
}

function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/** Reads the configuration that `-c` names. @throws ConfigError */
export function configOf(options: GlobalOptions, { env }: Surroundings): Config {
  return loadConfig(options.config, { sinkTypes, env });
}

/** Every value of the configuration that `-c` names, with where it comes from. @throws ConfigError */
export function valuesOf(options: GlobalOptions, { env }: Surroundings): readonly ConfigValue[] {
  return describeConfig(options.config, { sinkTypes, env });
}

/**
 * Reads what the ledger needs of that configuration: nobody has to have the daemon's secrets to mend what is in it.
 * @throws ConfigError
 */
export function ledgerConfigOf(options: GlobalOptions, { env }: Surroundings): LedgerConfig {
  return loadLedgerConfig(options.config, { sinkTypes, env });
}

/** What is remembered of the scheduled exports of a configuration. */
export function exportStatesOf({ dataDir }: Pick<LedgerConfig, 'dataDir'>): ExportStates {
  return new ExportStates(disk, dataDir);
}

/**
 * The same as far as it can be read, for what only looks: a mistake in the file hides nobody's leads. That there is one is
 * said on standard error. @throws ConfigError when not even data_dir can be read
 */
export function readableConfigOf(options: GlobalOptions, surroundings: Surroundings): LedgerConfig {
  const config = despiteFaults(options, surroundings);
  const note = faultsNote(config, options, surroundings);
  if (note) surroundings.stderr.write(`${note}\n`);
  return config;
}

/** That a file has faults, in a sentence; undefined when it has none. */
export function faultsNote(
  { faults = [] }: LedgerConfig,
  options: GlobalOptions,
  surroundings: Surroundings,
): string | undefined {
  if (faults.length === 0) return undefined;
  const shown = commandShown(options, surroundings)('validate');
  return `${printable(options.config)} has ${countOf(faults.length, 'fault')}, and is read as far as it can be; ${shown} shows each.`;
}

/** The same without a word: `faults` says what is wrong. @throws ConfigError when not even data_dir can be read */
export function despiteFaults(options: GlobalOptions, { env }: Surroundings): LedgerConfig {
  return loadDespiteFaults(options.config, { sinkTypes, env });
}

/**
 * Opens the ledger for as long as `use` takes. No lock is needed: a daemon may be running or not.
 * @throws LedgerError, among others when there is no ledger yet
 */
export async function withLedger<T>(
  config: LedgerConfig,
  { clock, random }: Surroundings,
  use: (ledger: Ledger) => Promise<T>,
): Promise<T> {
  const ledger = openConfiguredLedger(config, { clock, random, create: false });
  try {
    return await use(ledger);
  } finally {
    await ledger.close();
  }
}

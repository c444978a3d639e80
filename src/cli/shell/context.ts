import type { AuditFields } from '../../audit/audit-store.ts';
import {
  type Config,
  type ConfigValue,
  filesOf,
  type LedgerConfig,
  type SecretOption,
} from '../../config/contract/config.ts';
import {
  describeConfig,
  describeSecrets,
  loadConfig,
  loadLedgerConfig,
  loadLenientConfig,
} from '../../config/load-config.ts';
import type { ExportStates } from '../../exports/export-states.ts';
import type { Ledger } from '../../ledger/contract/ledger.ts';
import { openConfiguredLedger } from '../../operations/opening/configured-ledger.ts';
import { exportStatesIn } from '../../operations/opening/installation-stores.ts';
import { withStores } from '../../operations/opening/with-stores.ts';
import { rewriteCommands, startCommand, typedCommand } from '../../platform/process/typed-command.ts';
import { countOf } from '../../platform/text/human-readable.ts';
import { printable } from '../../platform/text/printable.ts';
import type { Clock, Random } from '../../platform/time/clock.ts';
import { sinkTypes } from '../../sinks/registry.ts';
import { type ExportView, viewExports } from '../../status/export-view.ts';
import type { LogStream } from '../../telemetry/logger.ts';
import { auditedLedger } from './audited-ledger.ts';
import { defaultConfigFile } from './default-config.ts';
import { recordAction } from './record-action.ts';

/** The environment of a command. Standard output is for data, standard error for messages. */
export interface Surroundings {
  /** `columns` and `rows` are set if the stream is a terminal. */
  readonly stdout: LogStream & {
    readonly columns?: number;
    readonly rows?: number;
    on?(event: 'resize', listener: () => void): unknown;
  };
  readonly stderr: LogStream;
  /** `setRawMode` is set if the stream is a terminal. In raw mode every key press arrives immediately. */
  readonly stdin: NodeJS.ReadableStream & { readonly isTTY?: boolean; setRawMode?(raw: boolean): unknown };
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  readonly random: Random;
}

/** The options that may stand before or after any command. */
export interface GlobalOptions {
  readonly config: string;
}

/** Formats a command as the user should type it, for messages. `words` is the command without the program name, for example `status`. */
export type ShowCommand = (words: string) => string;

/**
 * Returns a function that formats a command as this user should type it. Adds the `-c` of the current command, because without it the shown
 * command would use another ledger.
 */
export function commandFormatter({ config }: GlobalOptions, { env }: Pick<Surroundings, 'env'>): ShowCommand {
  const option = config === defaultConfigFile(env) ? '' : ` -c ${shellWord(printable(config))}`;
  const start = startCommand(env);
  return (words) =>
    words === 'run' && start !== undefined ? `\`${start}\`` : `\`${typedCommand(env)} ${words}${option}\``;
}

/**
 * Rewrites the commands in text for standard output into the form in which this user types them. Standard error does not need this, because
 * `runCommandLine` rewrites everything that is written there.
 */
export function withTypedCommands(text: string, { env }: Pick<Surroundings, 'env'>): string {
  return rewriteCommands(text, env);
}

/** Returns the width of standard output in columns; undefined if it is not a terminal. */
export function widthOf({ stdout }: Surroundings): number | undefined {
  // Some pseudo-terminals have 0 columns.
  return stdout.isTTY === true ? stdout.columns || undefined : undefined;
}

function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/** Reads the configuration that `-c` names. @throws ConfigError */
export function configOf(options: GlobalOptions, { env }: Surroundings): Config {
  return loadConfig(options.config, { sinkTypes, env });
}

/** Returns every effective value of the configuration that `-c` names, with its origin. @throws ConfigError */
export function valuesOf(options: GlobalOptions, { env }: Surroundings): readonly ConfigValue[] {
  return describeConfig(options.config, { sinkTypes, env });
}

/**
 * Returns every option that holds a secret, and where the secret comes from; undefined if the configuration has faults. @throws ConfigError
 * if the file has become invalid since it was read
 */
export function secretsOf(
  { faults = [] }: LedgerConfig,
  options: GlobalOptions,
  { env }: Surroundings,
): readonly SecretOption[] | undefined {
  return faults.length === 0 ? describeSecrets(options.config, { sinkTypes, env }) : undefined;
}

/**
 * Reads the part of the configuration that is enough for commands that neither poll nor deliver. Works without the secrets of the daemon.
 * @throws ConfigError
 */
export function ledgerConfigOf(options: GlobalOptions, { env }: Surroundings): LedgerConfig {
  return loadLedgerConfig(options.config, { sinkTypes, env });
}

/** Calls `use` with the stored states of a configuration's scheduled exports. @throws LedgerError */
export function withExportStates<T>(
  config: Pick<LedgerConfig, 'dataDir' | 'ledgerServer'>,
  surroundings: Surroundings,
  use: (states: ExportStates) => Promise<T>,
): Promise<T> {
  return withStores(config, surroundings, (stores) => use(exportStatesIn(stores, config)));
}

/** Returns every configured export and backup with its state. @throws LedgerError */
export function exportViewsOf(
  config: Pick<LedgerConfig, 'dataDir' | 'ledgerServer' | 'exports' | 'backups'>,
  surroundings: Surroundings,
): Promise<readonly ExportView[]> {
  const files = filesOf(config);
  if (files.length === 0) return Promise.resolve([]);
  return withExportStates(config, surroundings, (states) => viewExports(files, states));
}

/**
 * Like `ledgerConfigOf`, but leaves out the faulty parts of the file, so that read-only commands work despite a mistake in it. Writes a
 * note about the faults to standard error. @throws ConfigError if not even data_dir can be read
 */
export function readableConfigOf(options: GlobalOptions, surroundings: Surroundings): LedgerConfig {
  const config = lenientConfigOf(options, surroundings);
  const note = faultsNote(config, options, surroundings);
  if (note) surroundings.stderr.write(`${note}\n`);
  return config;
}

/** Returns a note that the configuration has faults; undefined if it has none. */
export function faultsNote(
  { faults = [] }: LedgerConfig,
  options: GlobalOptions,
  surroundings: Surroundings,
): string | undefined {
  if (faults.length === 0) return undefined;
  const shown = commandFormatter(options, surroundings)('validate');
  return `${printable(options.config)} has ${countOf(faults.length, 'fault')}; the rest of it is used. ${shown} shows each fault.`;
}

/** Like `readableConfigOf`, but silent; `faults` holds the faults. @throws ConfigError if not even data_dir can be read */
export function lenientConfigOf(options: GlobalOptions, { env }: Surroundings): LedgerConfig {
  return loadLenientConfig(options.config, { sinkTypes, env });
}

/**
 * Opens the ledger while `use` runs, and records each action of `use` in the audit log before it happens. Needs no lock, so it works whether a
 * daemon is running or not. @throws LedgerError, also if there is no ledger yet
 */
export async function withLedger<T>(
  config: LedgerConfig,
  surroundings: Surroundings,
  use: (ledger: Ledger) => Promise<T>,
): Promise<T> {
  const { clock, random } = surroundings;
  const ledger = await openConfiguredLedger(config, { clock, random, create: false });
  try {
    const record = (what: string, details: AuditFields) => recordAction(config, surroundings, what, details);
    return await use(auditedLedger(ledger, record));
  } finally {
    await ledger.close();
  }
}

import { resolve } from 'node:path';
import { InvalidArgumentError } from 'commander';
import type { LedgerConfig } from '../../config/contract/config.ts';
import { type ExportConfig, oneBackup } from '../../exports/contract/options.ts';
import { type ExportResult, runExport } from '../../exports/start-export-process.ts';
import { exportFolder } from '../../operations/opening/installation-stores.ts';
import { isLedgerMissing } from '../../operations/opening/new-ledger.ts';
import { requireLedgerFile } from '../../operations/opening/require-ledger-file.ts';
import { exportOnce } from '../../operations/scheduled-exports.ts';
import { listenForStop } from '../../platform/process/stop-signals.ts';
import { countOf, printBytes } from '../../platform/text/human-readable.ts';
import { printable } from '../../platform/text/printable.ts';
import { targetOf } from '../arguments/backup-place.ts';
import { requireName } from '../arguments/require-name.ts';
import { defineCommand } from '../shell/command.ts';
import { CommandFailure } from '../shell/command-failure.ts';
import { configOf, readableConfigOf, type Surroundings, withExportStates } from '../shell/context.ts';
import { ExitCode } from '../shell/exit-code.ts';
import { recordAction } from '../shell/record-action.ts';

interface Options {
  readonly to?: string;
  readonly keep?: number;
}

/** `leadsync backup`: writes a backup to a folder or a bucket, whether leadsync is running or not. */
export const command = defineCommand<Options>({
  examples: [
    'leadsync backup --to /var/backups/leadsync',
    'leadsync backup --to /var/backups/leadsync --keep 14',
    'leadsync backup --to s3://backups/leadsync',
    'leadsync backup nightly',
  ],
  notes:
    'A backup is one file, named after the time: a checked copy of the ledger, with the journal of erasures, the audit log, the states of alerts and exports, and encrypted tokens. It holds personal data; in a folder, only its owner can read it. leadsync may be running; its deliveries do not wait.\nWithout --to, the command makes the named backup from the configuration now, or all of them; this counts as a scheduled run. The configuration itself and its secrets are not in a backup. `leadsync restore` restores one; docs/backup.md says more.',
  declare: (command) =>
    command
      .option('--to <place>', 'a folder, which is created if missing, or s3://bucket/folder')
      .option('--keep <n>', 'with --to: the number of newest backups to keep there', readKeep),
  run: async (options, surroundings, [name]) => {
    if (options.to !== undefined && name !== undefined)
      throw usage('--to and the name of a backup cannot be combined.', 'Remove one of the two.');
    if (options.keep !== undefined && options.to === undefined)
      throw usage('--keep needs --to.', 'For configured backups, set `keep` in the configuration.');
    if (options.to === '') throw usage('--to is empty.', 'Name a folder, or s3://bucket/folder.');
    if (options.to !== undefined) {
      const config = readableConfigOf(options, surroundings);
      const target = targetOf(options.to, config, surroundings);
      const directory = target.type === 'directory' ? resolve(target.directory) : undefined;
      const place = directory === undefined ? target : { type: 'directory' as const, directory };
      return backUpOnce(oneBackup(place, options.keep), options.to, config, surroundings);
    }
    const config = configOf(options, surroundings);
    const names = config.backups.map((one) => one.name);
    if (name !== undefined) requireName('backup', name, names);
    if (names.length === 0)
      throw usage(
        'The configuration has no backups.',
        'Add `backups:` to it, or name a folder or bucket: `leadsync backup --to FOLDER`.',
      );
    for (const backup of config.backups)
      if (name === undefined || backup.name === name) await backUpNamed(backup, config, surroundings);
    return ExitCode.done;
  },
});

async function backUpNamed(
  backup: ExportConfig,
  config: LedgerConfig,
  surroundings: Surroundings,
): Promise<void> {
  const file = requireLedger(config);
  await recordAction(config, surroundings, 'backup', { name: backup.name });
  const { clock, random } = surroundings;
  const parts = { ledger: { kind: 'file', file } as const, clock, random, niceness: 0 };
  const result = await withExportStates(config, surroundings, (states) =>
    stoppable(async (signal) => (await exportOnce(backup, { ...parts, states }, signal)).result),
  );
  report(backup, result, surroundings);
}

async function backUpOnce(
  backup: ExportConfig,
  to: string,
  config: LedgerConfig,
  surroundings: Surroundings,
): Promise<number> {
  const file = requireLedger(config);
  await recordAction(config, surroundings, 'backup', { to });
  const at = surroundings.clock.now();
  const run = { ledger: { kind: 'file', file } as const, at, exportedAt: at, last: undefined, first: true };
  const folder = exportFolder(config.dataDir);
  report(
    backup,
    await stoppable((signal) => runExport(backup, run, { folder, niceness: 0 }, signal)),
    surroundings,
  );
  return ExitCode.done;
}

/**
 * Requires a ledger before anything is written, so that a mistyped data_dir is not created. Returns its path.
 * @throws NoLedgerFile, CommandFailure, LedgerError
 */
function requireLedger(config: LedgerConfig): string {
  const file = requireLedgerFile(
    config,
    "Back up its schema with the tools of its server, such as pg_dump, or with your provider's backups.",
  );
  if (!isLedgerMissing(config.dataDir)) return file;
  throw new CommandFailure(
    ExitCode.notDone,
    `There is nothing to back up: ${printable(file)} is missing or empty.`,
    'Check data_dir; the first `leadsync run` or `leadsync sync` creates the ledger.',
  );
}

async function stoppable(work: (signal: AbortSignal) => Promise<ExportResult>): Promise<ExportResult> {
  const stop = listenForStop((signal) => process.exit(signal === 'SIGINT' ? 130 : 143));
  return work(stop.signal).finally(() => stop.release());
}

/** Prints the result. @throws CommandFailure if no backup was made */
function report({ name }: ExportConfig, result: ExportResult, { stdout }: Surroundings): void {
  switch (result.kind) {
    case 'made': {
      const removed = result.removed > 0 ? ` Removed ${countOf(result.removed, 'older backup')}.` : '';
      stdout.write(
        `Wrote ${printable(result.place)}: ${countOf(result.rows, 'lead')}, ${printBytes(result.bytes)}, verified.${removed} It holds personal data.\n`,
      );
      return;
    }
    case 'failed':
      throw new CommandFailure(ExitCode.notDone, printable(result.message), printable(result.hint));
    case 'busy':
      throw new CommandFailure(ExitCode.notDone, `Backup ${name} is already running.`, 'Nothing was done.');
    case 'stopped':
      throw new CommandFailure(ExitCode.notDone, 'The backup was stopped. No partial file was left.');
  }
}

function readKeep(text: string): number {
  if (/^[1-9]\d{0,5}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It must be a whole number of 1 or more.');
}

function usage(message: string, hint: string): CommandFailure {
  return new CommandFailure(ExitCode.usage, message, hint);
}

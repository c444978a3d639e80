import type { LedgerConfig } from '../../config/contract/config.ts';
import { ExportFailed } from '../../exports/contract/export-failed.ts';
import { BACKUP_ENDING } from '../../exports/contract/format-names.ts';
import { openDestination } from '../../exports/destinations/open-destination.ts';
import { exportFolder } from '../../operations/opening/installation-stores.ts';
import { type Restored, RestoreRefused, restoreLedger } from '../../operations/restoring/restore.ts';
import { listenForStop } from '../../platform/process/stop-signals.ts';
import { printable, printJson } from '../../platform/text/printable.ts';
import { sourceOf } from '../arguments/backup-place.ts';
import { defineCommand } from '../shell/command.ts';
import { CommandFailure } from '../shell/command-failure.ts';
import { commandFormatter, ledgerConfigOf, type Surroundings, withTypedCommands } from '../shell/context.ts';
import { ExitCode } from '../shell/exit-code.ts';
import { recordAction } from '../shell/record-action.ts';
import { restoreJson, restoreText } from '../views/restore-text.ts';

interface Options {
  readonly yes?: boolean;
  readonly replace?: boolean;
  readonly otherInstallation?: boolean;
  readonly json?: boolean;
}

/** `leadsync restore BACKUP`: verifies a backup, describes the consequences, and puts it in place. */
export const command = defineCommand<Options>({
  examples: [
    'leadsync restore',
    'leadsync restore /var/backups/leadsync/nightly-20261122T030000Z.db.gz',
    'leadsync restore /var/backups/leadsync/nightly-20261122T030000Z.db.gz --yes --replace',
    'leadsync restore s3://backups/leadsync/nightly-20261122T030000Z.db.gz --yes',
    'leadsync restore data/ledger.db.before-schema-9 --yes --replace',
  ],
  notes:
    'Stop leadsync and its workers first. If you name no backup, the command lists the backups at the configured destinations. Without --yes it verifies the backup and says what a restore would do; it changes nothing. A ledger with content is replaced only with --replace, and stays next to the restored one under another name.\nExit 0 if the backup was restored, 75 if leadsync or a worker is running, else 1. docs/backup.md says what receivers see afterwards.',
  declare: (command) =>
    command
      .option('--yes', 'put the backup in place')
      .option('--replace', 'replace the present ledger, which is kept under another name')
      .option('--other-installation', 'accept the backup of another installation')
      .option('--json', 'print the findings as JSON'),
  run: async (options, surroundings, [typed]) => {
    const config = ledgerConfigOf(options, surroundings);
    if (typed === undefined || typed === '') return listBackups(config, surroundings);
    const request = {
      source: sourceOf(typed, config, surroundings),
      exchange: options.yes === true,
      replace: options.replace === true,
      foreign: options.otherInstallation === true,
    };
    const record = () =>
      recordAction(config, surroundings, 'restore', { from: typed, replace: request.replace });
    const isRecorded = !request.exchange || (await record());
    const stop = listenForStop(() => process.exit(ExitCode.notDone));
    const { clock, stdout } = surroundings;
    const restored = await restoreLedger(config, request, { clock, signal: stop.signal })
      .catch((error: unknown) => {
        throw stop.signal.aborted ? STOPPED : explain(error);
      })
      .finally(() => stop.release());
    if (!isRecorded) await record(); // the data directory was empty
    stdout.write(
      options.json
        ? printJson(restoreJson(restored))
        : withTypedCommands(restoreText(restored, clock.now()), surroundings),
    );
    if (restored.exchanged) return ExitCode.done;
    throw notDone(restored, typed, commandFormatter(options, surroundings));
  },
});

const STOPPED = new CommandFailure(ExitCode.notDone, 'The restore was stopped. The ledger is as it was.');

function explain(error: unknown): unknown {
  return error instanceof ExportFailed || error instanceof RestoreRefused
    ? new CommandFailure(ExitCode.notDone, printable(error.message), printable(error.hint))
    : error;
}

function notDone({ replaces }: Restored, typed: string, shown: (words: string) => string): CommandFailure {
  const words = `restore ${printable(typed)} --yes${replaces ? ' --replace' : ''}`;
  return new CommandFailure(
    ExitCode.notDone,
    'Nothing was changed.',
    `${shown(words)} puts the backup in place.`,
  );
}

/** Lists the files of each configured backup at its destination, newest first. @throws CommandFailure if there is none */
async function listBackups(config: LedgerConfig, { stdout }: Surroundings): Promise<number> {
  if (config.backups.length === 0)
    throw new CommandFailure(
      ExitCode.usage,
      'No backup was named, and the configuration has no backups.',
      'Name a file: `leadsync restore FILE`.',
    );
  const places: string[] = [];
  for (const backup of config.backups) {
    const destination = await openDestination(backup, exportFolder(config.dataDir));
    try {
      const files = (await destination.list(new AbortController().signal)).filter((file) =>
        file.endsWith(BACKUP_ENDING),
      );
      places.push(...files.toReversed().map((file) => destination.nameOf(file)));
    } catch (error) {
      throw explain(error);
    } finally {
      destination.close();
    }
  }
  if (places.length === 0)
    throw new CommandFailure(
      ExitCode.notDone,
      'There is no backup at the configured destinations.',
      '`leadsync backup` creates one.',
    );
  stdout.write(places.map((place) => `${printable(place)}\n`).join(''));
  return ExitCode.done;
}

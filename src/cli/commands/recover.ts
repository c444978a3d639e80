import { isUndamaged, type Recovery, recoverLedger } from '../../operations/recover.ts';
import { listenForStop } from '../../platform/process/stop-signals.ts';
import { printJson } from '../../platform/text/printable.ts';
import { defineCommand } from '../shell/command.ts';
import { CommandFailure } from '../shell/command-failure.ts';
import { commandFormatter, ledgerConfigOf, withTypedCommands } from '../shell/context.ts';
import { ExitCode } from '../shell/exit-code.ts';
import { recordAction } from '../shell/record-action.ts';
import { RowProgress } from '../shell/row-progress.ts';
import { recoveryText } from '../views/recovery-text.ts';

interface Options {
  readonly yes?: boolean;
  readonly json?: boolean;
}

/** `leadsync recover`: rebuilds a damaged ledger from everything that can be read. */
export const command = defineCommand<Options>({
  examples: ['leadsync recover', 'leadsync recover --yes', 'leadsync recover --json | jq .tables'],
  notes:
    'Stop leadsync and its workers first. Without --yes the command shows what can be recovered, and changes nothing. With --yes the recovered ledger replaces the damaged one, which is kept next to it under another name.\nDeliveries whose records are lost are made again under the same id, so a receiver may get them twice.\nExit 0 if the ledger is undamaged or was recovered, 75 if leadsync or a worker is running, else 1.',
  declare: (command) =>
    command
      .option('--yes', 'replace the damaged ledger with the recovered one')
      .option('--json', 'print the findings as JSON'),
  run: async (options, surroundings) => {
    const config = ledgerConfigOf(options, surroundings);
    const { clock, stdout, stderr } = surroundings;
    if (options.yes) await recordAction(config, surroundings, 'recover');
    const stop = listenForStop(() => process.exit(ExitCode.notDone));
    const progress = new RowProgress(stderr);
    progress.say('Checking the whole file for damage …');
    const onCopied = (table: string, rows: number) => progress.reportProgress(table, rows, 'copied');
    const parts = { clock, signal: stop.signal, onCopied };
    const recovery = await recoverLedger(config, parts, options.yes === true)
      .catch((error: unknown) => {
        throw stop.signal.aborted && error === stop.signal.reason ? stopped() : error;
      })
      .finally(() => {
        progress.end();
        stop.release();
      });
    stdout.write(
      options.json
        ? printJson(recoveryJson(recovery))
        : withTypedCommands(recoveryText(recovery), surroundings),
    );
    if (isUndamaged(recovery) || recovery.aside !== undefined) return ExitCode.done;
    const shown = commandFormatter(options, surroundings)('recover --yes');
    throw new CommandFailure(
      ExitCode.notDone,
      'Nothing was changed.',
      `${shown} replaces the damaged ledger with the recovered one, and keeps the damaged one next to it. If you have a recent backup, compare it with the recovered ledger: the backup may have what is lost here, but it lacks everything recorded since.`,
    );
  },
});

function stopped(): CommandFailure {
  return new CommandFailure(ExitCode.notDone, 'The recovery was stopped. Nothing was changed.');
}

function recoveryJson(recovery: Recovery) {
  const { file, damage, recovered, aside } = recovery;
  return {
    file,
    sound: isUndamaged(recovery),
    damage: damage?.message ?? null,
    exchanged: aside !== undefined,
    kept_as: aside ?? null,
    leads: recovered.leads,
    leads_without_text: recovered.leadsWithoutText,
    erased: recovered.erased,
    sinks: recovered.sinks,
    sinks_restored_by_name: recovered.sinksRestored,
    deliveries: recovered.deliveries,
    deliveries_restored: recovered.deliveriesRestored,
    deliveries_repeated: recovered.deliveriesRepeated,
    deliveries_waiting: recovered.deliveriesWaiting,
    tables: recovered.tables,
  };
}

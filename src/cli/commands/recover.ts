import { isSound, type Recovery, recoverLedger } from '../../operations/recover.ts';
import { listenForStop } from '../../platform/process/stop-signals.ts';
import { printJson } from '../../platform/text/printable.ts';
import { defineCommand } from '../shell/command.ts';
import { CommandFailure } from '../shell/command-failure.ts';
import { asTypedHere, commandShown, ledgerConfigOf } from '../shell/context.ts';
import { ExitCode } from '../shell/exit-code.ts';
import { RowProgress } from '../shell/row-progress.ts';
import { recoveryText } from '../views/recovery-text.ts';

interface Options {
  readonly yes?: boolean;
  readonly json?: boolean;
}

/** `leadsync recover`: makes a new ledger of what can be read of a damaged one. */
export const command = defineCommand<Options>({
  examples: ['leadsync recover', 'leadsync recover --yes', 'leadsync recover --json | jq .tables'],
  notes:
    'Stop leadsync and its workers first. Without --yes it says what can be recovered, and changes nothing. With --yes the recovered ledger takes the place of the damaged one, which is kept beside it under another name.\nDeliveries of which nothing is known any more are made under the same id, so a receiver may get them twice.\nExit 0 when the ledger is sound or was recovered, 1 when it was not, 75 while a leadsync or a worker runs.',
  declare: (command) =>
    command
      .option('--yes', 'put the recovered ledger in the place of the damaged one')
      .option('--json', 'print what was found as JSON'),
  run: async (options, surroundings) => {
    const config = ledgerConfigOf(options, surroundings);
    const { clock, stdout, stderr } = surroundings;
    const stop = listenForStop(() => process.exit(ExitCode.notDone));
    const progress = new RowProgress(stderr);
    progress.say('Looking for damage in the whole file …');
    const onCopied = (table: string, rows: number) => progress.howFar(table, rows, 'copied');
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
      options.json ? printJson(recoveryJson(recovery)) : asTypedHere(recoveryText(recovery), surroundings),
    );
    if (isSound(recovery) || recovery.aside !== undefined) return ExitCode.done;
    const shown = commandShown(options, surroundings)('recover --yes');
    throw new CommandFailure(
      ExitCode.notDone,
      'Nothing was changed.',
      `${shown} puts the recovered ledger in the place of the damaged one, which is kept beside it. If you have a recent backup, compare: a backup has what was lost here, and lacks what came after it.`,
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
    sound: isSound(recovery),
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

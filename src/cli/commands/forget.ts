import { countOf } from '../../platform/text/human-readable.ts';
import { printable } from '../../platform/text/printable.ts';
import { requireSink } from '../arguments/require-name.ts';
import { defineCommand } from '../shell/command.ts';
import { CommandFailure } from '../shell/command-failure.ts';
import { type ConfirmOptions, confirmAction } from '../shell/confirm.ts';
import { commandFormatter, ledgerConfigOf, withLedger } from '../shell/context.ts';
import { ExitCode } from '../shell/exit-code.ts';

/** `leadsync forget SINK`: skips the pending deliveries of a sink that was removed from the configuration. */
export const command = defineCommand<ConfirmOptions>({
  examples: ['leadsync forget old-crm --dry-run', 'leadsync forget old-crm', 'leadsync forget old-crm --yes'],
  notes:
    'The ledger keeps the pending deliveries of a removed sink until the sink is back in the configuration. This command records them as skipped, which cannot be undone: it asks on a terminal, and needs --yes elsewhere. For a renamed sink, set `formerly: OLD-NAME` instead.',
  declare: (command) =>
    command
      .option('--dry-run', 'only say how many deliveries would be skipped')
      .option('--yes', 'do not ask'),
  run: async (options, surroundings, [sink = '']) => {
    const config = ledgerConfigOf(options, surroundings);
    const { stdout } = surroundings;
    return withLedger(config, surroundings, async (ledger) => {
      requireSink(sink, config, await ledger.status());
      if (config.sinks.some(({ name, enabled }) => name === sink && enabled)) throw stillConfigured(sink);
      const pending = await ledger.forgettable(sink);
      if (pending === undefined) throw notAppliedYet(sink, commandFormatter(options, surroundings)('reload'));
      const what = `${countOf(pending, 'pending delivery')} of ${printable(sink)}`;
      if (options.dryRun) {
        stdout.write(`Dry run: ${what} would be skipped.\n`);
        return ExitCode.done;
      }
      const effect = `This skips ${what} for good`;
      if (pending > 0) await confirmAction({ effect, scriptsNeedYes: true }, options, surroundings);
      const skipped = (await ledger.forget(sink)) ?? 0;
      stdout.write(`${countOf(skipped, 'delivery')} of ${printable(sink)} skipped.\n`);
      return ExitCode.done;
    });
  },
});

function stillConfigured(sink: string): CommandFailure {
  return new CommandFailure(
    ExitCode.usage,
    `${printable(sink)} is in the configuration, so its pending deliveries will be attempted.`,
    'Remove it first, or set `enabled: false`.',
  );
}

function notAppliedYet(sink: string, reload: string): CommandFailure {
  return new CommandFailure(
    ExitCode.notDone,
    `${printable(sink)} was removed from the configuration, but leadsync has not applied that yet.`,
    `If leadsync is running, use ${reload}; otherwise its next start applies the change.`,
  );
}

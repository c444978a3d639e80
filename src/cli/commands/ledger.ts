import { acceptNewLedger } from '../../operations/opening/accept-ledger.ts';
import { ledgerPlaceOf } from '../../operations/opening/configured-ledger.ts';
import { printable } from '../../platform/text/printable.ts';
import { defineCommand } from '../shell/command.ts';
import { CommandFailure } from '../shell/command-failure.ts';
import {
  type GlobalOptions,
  ledgerConfigOf,
  type Surroundings,
  withTypedCommands,
} from '../shell/context.ts';
import { ExitCode } from '../shell/exit-code.ts';
import { recordAction } from '../shell/record-action.ts';

/** `leadsync ledger ACTION`: creates a new ledger if leadsync refuses to do so by itself. */
export const command = defineCommand<object>({
  examples: ['leadsync ledger accept'],
  notes:
    'leadsync does not create a ledger by itself if there are signs of an earlier one; accept does. With a new ledger, every listed lead is delivered again to every sink, except sinks with `backfill: false`.',
  run: async (options, surroundings, [action]) => {
    if (action === 'accept') return accept(options, surroundings);
    throw new CommandFailure(
      ExitCode.usage,
      `ledger has no action "${printable(String(action))}".`,
      action === 'backup'
        ? '`leadsync backup --to FOLDER` makes a backup, and `leadsync restore FILE` restores it.'
        : 'The only action is `accept`: `leadsync ledger accept`.',
    );
  },
});

async function accept(options: GlobalOptions, surroundings: Surroundings): Promise<number> {
  const config = ledgerConfigOf(options, surroundings);
  const isRecorded = await recordAction(config, surroundings, 'ledger-accept');
  const { made, aside } = await acceptNewLedger(config, surroundings);
  if (!isRecorded) await recordAction(config, surroundings, 'ledger-accept');
  const { stdout } = surroundings;
  const { where } = ledgerPlaceOf(config);
  for (const path of aside) stdout.write(`${printable(path)} holds what is left of the old ledger.\n`);
  stdout.write(
    made
      ? withTypedCommands(
          `There is a new ledger in ${printable(where)}. The next \`leadsync run\` delivers every listed lead to every sink with \`backfill\`.\n`,
          surroundings,
        )
      : `There already is a ledger in ${printable(where)}: nothing was done.\n`,
  );
  return ExitCode.done;
}

import { acceptNewLedger } from '../../operations/opening/accept-ledger.ts';
import { ledgerFile } from '../../operations/opening/open-ledger.ts';
import { printable } from '../../platform/text/printable.ts';
import { backUp } from '../back-up.ts';
import { defineCommand } from '../shell/command.ts';
import { CommandFailure } from '../shell/command-failure.ts';
import { asTypedHere, type GlobalOptions, ledgerConfigOf, type Surroundings } from '../shell/context.ts';
import { ExitCode } from '../shell/exit-code.ts';

/** `leadsync ledger ACTION`: copies the ledger, or makes a new one where leadsync asks whether one is meant. */
export const command = defineCommand<object>({
  examples: ['leadsync ledger backup ledger-backup.db', 'leadsync ledger accept'],
  notes:
    'backup writes a copy of one moment, readable by you alone; leadsync may run meanwhile. docs/operating.md says how to restore it.\nleadsync does not make a ledger by itself where something shows that there was one. With a new one every listed lead goes to every sink again, but to those with `backfill: false`.',
  run: async (options, surroundings, [action, file]) => {
    if (action === 'backup') return backUp(options, surroundings, file);
    if (action === 'accept') return accept(options, surroundings);
    throw new CommandFailure(
      ExitCode.usage,
      `There is no "${printable(String(action))}" of ledger.`,
      'There are: `leadsync ledger accept`, `leadsync ledger backup FILE`.',
    );
  },
});

function accept(options: GlobalOptions, surroundings: Surroundings): number {
  const config = ledgerConfigOf(options, surroundings);
  const { made, aside } = acceptNewLedger(config, surroundings);
  const { stdout } = surroundings;
  for (const path of aside) stdout.write(`${printable(path)} is what was left of the old ledger.\n`);
  stdout.write(
    made
      ? asTypedHere(
          `${printable(ledgerFile(config.dataDir))} is a new ledger. The next \`leadsync run\` brings every listed lead to every sink with \`backfill\`.\n`,
          surroundings,
        )
      : `There is a ledger in ${printable(config.dataDir)} already: nothing was done.\n`,
  );
  return ExitCode.done;
}

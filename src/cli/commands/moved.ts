import { printable } from '../../platform/text/printable.ts';
import { defineCommand } from '../shell/command.ts';
import { CommandFailure } from '../shell/command-failure.ts';
import { ledgerConfigOf, withLedger } from '../shell/context.ts';
import { ExitCode } from '../shell/exit-code.ts';
import { requireName, sourceNames } from '../shell/names.ts';

/** `leadsync moved SOURCE`: the service is the same as before, at another address. */
export const command = defineCommand({
  examples: ['leadsync moved main'],
  notes:
    'Where the leads of a source come from is kept in the ledger. A poll of another address fails until this is said, for the leads of another service or account would be taken for changes of those that are known; such a source needs another name.',
  run: async (options, surroundings, [source = '']) => {
    const config = ledgerConfigOf(options, surroundings);
    await withLedger(config, surroundings, async (ledger) => {
      requireName('source', source, sourceNames(config, await ledger.status()));
      if (!(await ledger.forgetOrigin(source)))
        throw new CommandFailure(
          ExitCode.notDone,
          `${printable(source)} was never polled: there is nothing that could have moved.`,
          'Its first poll keeps where its leads come from.',
        );
    });
    surroundings.stderr.write(
      `${source}: whatever address its next poll reads is taken for the one where its leads are.\n`,
    );
    return ExitCode.done;
  },
});

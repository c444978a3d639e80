import { printable } from '../../platform/text/printable.ts';
import { requireName, sourceNames } from '../arguments/require-name.ts';
import { defineCommand } from '../shell/command.ts';
import { CommandFailure } from '../shell/command-failure.ts';
import { ledgerConfigOf, withLedger } from '../shell/context.ts';
import { ExitCode } from '../shell/exit-code.ts';

/** `leadsync moved SOURCE`: confirms that a source's service has moved to a new address, and still lists the same leads. */
export const command = defineCommand({
  examples: ['leadsync moved main'],
  notes:
    'The ledger records where the leads of each source come from. If the address of a source changes, its polls fail until you confirm the move, because the leads of another service or account would look like changes to the known leads. If the new address lists different leads, give the source another name instead.',
  run: async (options, surroundings, [source = '']) => {
    const config = ledgerConfigOf(options, surroundings);
    await withLedger(config, surroundings, async (ledger) => {
      requireName('source', source, sourceNames(config, await ledger.status()));
      if (!(await ledger.forgetOrigin(source)))
        throw new CommandFailure(
          ExitCode.notDone,
          `${printable(source)} has never been polled, so no origin is recorded.`,
          'Its first poll records the origin of its leads.',
        );
    });
    surroundings.stderr.write(
      `${source}: its next poll records the configured address as the origin of its leads.\n`,
    );
    return ExitCode.done;
  },
});

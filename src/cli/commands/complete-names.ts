import { Argument } from 'commander';
import { ConfigError } from '../../config/contract/config-error.ts';
import { CONFIGURED_NAMES, type ConfiguredName } from '../completion/command-tree.ts';
import { defineCommand } from '../shell/command.ts';
import { lenientConfigOf } from '../shell/context.ts';
import { ExitCode } from '../shell/exit-code.ts';

/** `leadsync complete-names KIND`: prints configured names for completion scripts. Prints nothing if no configuration can be read. */
export const command = defineCommand({
  examples: ['leadsync complete-names sink'],
  declare: (command) =>
    command.addArgument(new Argument('<kind>', 'the kind of names').choices(CONFIGURED_NAMES)),
  run: async (options, surroundings, [kind]) => {
    try {
      const { sinks, sources, exports } = lenientConfigOf(options, surroundings);
      const named = { sink: sinks, source: sources, export: exports }[kind as ConfiguredName];
      surroundings.stdout.write(named.map(({ name }) => `${name}\n`).join(''));
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
    }
    return ExitCode.done;
  },
});

import { Argument } from 'commander';
import { printable, printJson } from '../../platform/text/printable.ts';
import { defineCommand } from '../shell/command.ts';
import { valuesOf, widthOf } from '../shell/context.ts';
import { ExitCode } from '../shell/exit-code.ts';
import { table } from '../shell/table.ts';

/** `leadsync config show`: every value in force, with where it comes from. */
export const command = defineCommand<{ json?: boolean }>({
  examples: [
    'leadsync config show',
    'leadsync config show --json | jq \'.[] | select(.origin != "default")\'',
  ],
  notes:
    'Origins are file:line, the variable of the environment, the file of a secret, or the default. The environment is that of this command, which may differ from that of a leadsync that is running.',
  declare: (command) =>
    command
      .addArgument(new Argument('<what>', 'what to do with it').choices(['show']))
      .option('--json', 'print it as JSON'),
  run: async (options, surroundings) => {
    const values = valuesOf(options, surroundings);
    const rows = values.map(({ path, value, origin }) => [path, value, origin].map(printable));
    const columns = [{ head: 'PATH' }, { head: 'VALUE' }, { head: 'ORIGIN' }];
    surroundings.stdout.write(options.json ? printJson(values) : table(columns, rows, widthOf(surroundings)));
    return ExitCode.done;
  },
});

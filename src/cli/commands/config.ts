import { Argument } from 'commander';
import { printable, printJson } from '../../platform/text/printable.ts';
import { defineCommand } from '../shell/command.ts';
import { valuesOf, widthOf } from '../shell/context.ts';
import { ExitCode } from '../shell/exit-code.ts';
import { table } from '../shell/table.ts';

/** `leadsync config show`: prints every effective value with its origin. */
export const command = defineCommand<{ json?: boolean }>({
  examples: [
    'leadsync config show',
    'leadsync config show --json | jq \'.[] | select(.origin != "default")\'',
  ],
  notes:
    'The origin is file:line, an environment variable, the file of a secret, or the default. This command reads its own environment, which may differ from that of a running leadsync.',
  declare: (command) =>
    command
      .addArgument(new Argument('<what>', 'the action').choices(['show']))
      .option('--json', 'print the values as JSON'),
  run: async (options, surroundings) => {
    const values = valuesOf(options, surroundings);
    const rows = values.map(({ path, value, origin }) => [path, value, origin].map(printable));
    const columns = [{ head: 'PATH' }, { head: 'VALUE' }, { head: 'ORIGIN' }];
    surroundings.stdout.write(options.json ? printJson(values) : table(columns, rows, widthOf(surroundings)));
    return ExitCode.done;
  },
});

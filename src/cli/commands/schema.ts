import { configSchema } from '../../config/options/config-json-schema.ts';
import { printJson } from '../../platform/text/printable.ts';
import { sinkTypes } from '../../sinks/registry.ts';
import { defineCommand } from '../shell/command.ts';
import { ExitCode } from '../shell/exit-code.ts';

/** `leadsync schema`: prints the JSON Schema of the configuration, for editors. */
export const command = defineCommand({
  examples: ['leadsync schema > leadsync.schema.json'],
  notes:
    'Editors use it if the configuration begins with\n  # yaml-language-server: $schema=./leadsync.schema.json',
  run: async (_options, { stdout }) => {
    stdout.write(printJson(configSchema(sinkTypes)));
    return ExitCode.done;
  },
});

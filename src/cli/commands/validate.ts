import { countOf } from '../../platform/in-words.ts';
import { defineCommand } from '../command.ts';
import { configOf } from '../context.ts';
import { ExitCode } from '../exit-code.ts';
import { printWarnings } from '../print-warnings.ts';

/** `leadsync validate`: is the configuration right? Opens no connection. */
export const command = defineCommand({
  examples: ['leadsync validate', 'leadsync validate -c /etc/leadsync.yaml'],
  notes:
    'Every fault is told at once, as file:line:column; then the exit code is 78. A warning on standard error leaves it at 0.',
  run: async (options, surroundings) => {
    const config = configOf(options, surroundings);
    const { file, sources, sinks } = config;
    const disabled = sinks.filter(({ enabled }) => !enabled).length;
    const enabled = disabled > 0 ? `, ${disabled} of them disabled` : '';
    surroundings.stdout.write(
      `${file} is right: ${countOf(sources.length, 'source')}, ${countOf(sinks.length, 'sink')}${enabled}.\n`,
    );
    printWarnings(config, surroundings.stderr);
    return ExitCode.done;
  },
});

import { existsSync } from 'node:fs';
import { exampleConfig } from '../../config/initial/example-config.ts';
import { newConfig, sinksToSetUp, variablesIn } from '../../config/initial/new-config.ts';
import { printable } from '../../platform/text/printable.ts';
import { sinkTypes } from '../../sinks/registry.ts';
import { converse, isInteractive } from '../init/conversation.ts';
import { askForConfig } from '../init/init-dialog.ts';
import { defineCommand } from '../shell/command.ts';
import type { Surroundings } from '../shell/context.ts';
import { ExitCode } from '../shell/exit-code.ts';
import { alreadyThere, writeNewFile } from '../shell/write-new-file.ts';

const HINT = 'Name another file: `leadsync init other.yaml`.';

/** `leadsync init`: creates a commented configuration. Never overwrites a file. */
export const command = defineCommand({
  examples: ['leadsync init', 'leadsync init /etc/leadsync.yaml', 'leadsync init < /dev/null'],
  notes:
    'On a terminal it asks a few questions: the address of the service, and where to deliver leads. Otherwise it writes an example.',
  run: async ({ config }, surroundings, [file = config]) => {
    if (existsSync(file)) throw alreadyThere(file, HINT); // before the user answers questions in vain
    const text = isInteractive(surroundings) ? await askForText(surroundings) : exampleConfig(sinkTypes);
    writeNewFile(file, text, HINT);
    surroundings.stderr.write(nextSteps(file, text));
    return ExitCode.done;
  },
});

async function askForText(surroundings: Surroundings): Promise<string> {
  return newConfig(await converse(surroundings, askForConfig), sinkTypes);
}

function nextSteps(file: string, text: string): string {
  const option = file === 'leadsync.yaml' ? '' : ` -c ${printable(file)}`;
  const example = text === exampleConfig(sinkTypes);
  const steps = [
    ...(example ? ['Enter the address of your service and your destinations in the file.'] : []),
    `Set its environment variables: ${listed(variablesIn(text))}.`,
    ...sinksToSetUp(text, sinkTypes).map(
      (sink) =>
        `Create what the destination of ${sink} lacks: \`leadsync setup ${sink} --yes${option}\`; without --yes, the command only shows what is missing.`,
    ),
    `Check the file with \`leadsync validate${option}\`, and the connections with \`leadsync check${option}\`.`,
    `Start with \`leadsync run${option}\`.`,
  ];
  return [
    `Wrote ${printable(file)}. Next:`,
    ...steps.map((step, at) => `  ${at + 1}. ${step}`),
    'For completion in your editor: `leadsync schema > leadsync.schema.json`, in the same folder.\n',
  ].join('\n');
}

function listed(names: readonly string[]): string {
  return new Intl.ListFormat('en-GB', { type: 'conjunction' }).format(names);
}

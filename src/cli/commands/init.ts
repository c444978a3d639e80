import { exampleConfig } from '../../config/example-config.ts';
import { defineCommand } from '../command.ts';
import { ExitCode } from '../exit-code.ts';
import { writeNewFile } from '../new-file.ts';
import { printable } from '../printable.ts';

/** `leadsync init`: writes a commented configuration to begin with. Never overwrites. */
export const init = defineCommand({
  usage: 'init [file]',
  summary: 'writes a commented configuration to begin with; never overwrites',
  examples: ['leadsync init', 'leadsync init /etc/leadsync.yaml'],
  run: async ({ config }, { stderr }, [file = config]) => {
    writeNewFile(file, exampleConfig(), 'Name another file: `leadsync init other.yaml`.');
    const option = file === 'leadsync.yaml' ? '' : ` -c ${printable(file)}`;
    stderr.write(
      `Wrote ${printable(file)}. Next:\n` +
        '  1. Put the address of your service and your destinations into it.\n' +
        '  2. Set the variables that it names: LEADS_CLIENT_ID and LEADS_CLIENT_SECRET.\n' +
        `  3. \`leadsync validate${option}\` says whether it is right, \`leadsync check${option}\` whether everything can be reached.\n` +
        `  4. \`leadsync run${option}\` starts.\n` +
        'For completion in your editor: `leadsync schema > leadsync.schema.json`, in the same folder.\n',
    );
    return ExitCode.done;
  },
});

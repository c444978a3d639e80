import { describePlan, planOf } from '../../operations/plan.ts';
import { lastExports } from '../../operations/scheduled-exports.ts';
import { printable, printJson } from '../../platform/text/printable.ts';
import { defineCommand } from '../shell/command.ts';
import { asTypedHere, configOf, exportStatesOf } from '../shell/context.ts';
import { ExitCode } from '../shell/exit-code.ts';
import { lastDeclaration } from '../shell/last-declared.ts';

const NOTHING =
  'No source, sink or export would change. Secrets (the url of a webhook is one) and other options are not compared; `leadsync reload` says what becomes of them.';

/** `leadsync plan`: what a changed configuration would do. Changes nothing. */
export const command = defineCommand<{ json?: boolean }>({
  examples: ['leadsync plan', 'leadsync plan -c new.yaml', "leadsync plan --json | jq '.sinks'"],
  notes:
    'Compares the configuration with the one that leadsync last ran with, and changes nothing. That a secret has another value is not seen: the ledger keeps none. `leadsync reload` then does it.',
  declare: (command) => command.option('--json', 'print it as JSON'),
  run: async (options, surroundings) => {
    const config = configOf(options, surroundings);
    const last = {
      ...(await lastDeclaration(config, surroundings)),
      exports: await lastExports(exportStatesOf(config)),
    };
    const planned = planOf(last, config);
    if (options.json) surroundings.stdout.write(printJson(planned));
    else {
      const lines = describePlan(planned);
      const text = lines.length > 0 ? lines.map(printable).join('\n') : NOTHING;
      surroundings.stdout.write(`${asTypedHere(text, surroundings)}\n`);
    }
    return ExitCode.done;
  },
});

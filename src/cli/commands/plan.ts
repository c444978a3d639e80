import { describePlan } from '../../operations/describe-plan.ts';
import { planOf } from '../../operations/plan.ts';
import { withRouting } from '../../operations/plan-routing.ts';
import { lastExports } from '../../operations/scheduled-exports.ts';
import { printable, printJson } from '../../platform/text/printable.ts';
import { defineCommand } from '../shell/command.ts';
import { configOf, exportStatesOf, withTypedCommands } from '../shell/context.ts';
import { ExitCode } from '../shell/exit-code.ts';
import { lastDeclaration } from '../shell/last-declared.ts';
import { newestLeads, sentPending } from '../shell/newest-leads.ts';

/** The number of leads by which `plan` shows what a changed mapping does. */
const TRIED_LEADS = 1_000;

const NOTHING =
  'No source, sink or export would change. Secrets (such as the url of a webhook) and other options are not compared; `leadsync reload` reports their changes.';

/** `leadsync plan`: shows what a changed configuration would do. Changes nothing. */
export const command = defineCommand<{ json?: boolean }>({
  examples: ['leadsync plan', 'leadsync plan -c new.yaml', "leadsync plan --json | jq '.sinks'"],
  notes:
    'Compares the configuration with the one that leadsync last ran with. Changes of secrets are not shown, because the ledger does not store secrets. `leadsync reload` applies the changes.',
  declare: (command) => command.option('--json', 'print the plan as JSON'),
  run: async (options, surroundings) => {
    const config = configOf(options, surroundings);
    const last = {
      ...(await lastDeclaration(config, surroundings)),
      exports: await lastExports(exportStatesOf(config)),
    };
    const planned = await withRouting(planOf(last, config), last, config, {
      leads: () => newestLeads(config, surroundings, TRIED_LEADS),
      sentPending: (sink) => sentPending(config, surroundings, sink),
    });
    if (options.json) surroundings.stdout.write(printJson(planned));
    else {
      const lines = describePlan(planned);
      const text = lines.length > 0 ? lines.map(printable).join('\n') : NOTHING;
      surroundings.stdout.write(`${withTypedCommands(text, surroundings)}\n`);
    }
    return ExitCode.done;
  },
});

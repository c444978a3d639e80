import { type ChangedOption, describeChangedOption } from '../../config/changes/changed-options.ts';
import type { Config } from '../../config/contract/config.ts';
import type { LastDeclaration } from '../../ledger/contract/declaration.ts';
import { ledgerPlaceOf } from '../../operations/opening/configured-ledger.ts';
import { isDataDirInUse } from '../../operations/opening/open-ledger.ts';
import { withRouting } from '../../operations/plan-routing.ts';
import { describePlan } from '../../operations/planning/describe-plan.ts';
import { planOf } from '../../operations/planning/plan.ts';
import { lastExports } from '../../operations/scheduled-exports.ts';
import { printable, printJson } from '../../platform/text/printable.ts';
import { askDaemon, daemonTarget } from '../running/ask-daemon.ts';
import { defineCommand } from '../shell/command.ts';
import { configOf, withExportStates, withTypedCommands } from '../shell/context.ts';
import { ExitCode } from '../shell/exit-code.ts';
import { lastDeclaration } from '../shell/last-declaration.ts';
import { newestLeads, sentPending } from '../shell/sample-leads.ts';

/** Number of recent leads on which `plan` tries a changed mapping. */
const TRIED_LEADS = 1_000;
/** Maximum size of the list of changed options, in bytes. */
const MAX_BYTES = 4 * 1024 * 1024;

const NOTHING = 'No source, sink or export would change.';
const NOT_COMPARED =
  'Secrets (such as the url of a webhook) and options outside sources, sinks and exports are compared only while leadsync runs with this file and admin.listen is not off.';

const NO_DECLARATION: LastDeclaration = { sources: [], sinks: [] };

/** `leadsync plan`: shows what a changed configuration would do. Changes nothing. */
export const command = defineCommand<{ json?: boolean }>({
  examples: ['leadsync plan', 'leadsync plan -c new.yaml', "leadsync plan --json | jq '.sinks'"],
  notes:
    'Compares the configuration with the one that leadsync last ran with. While leadsync runs, it also shows every option that changes, with its old and new value, and what needs a restart; secrets read "changed". `leadsync reload` applies the changes.',
  declare: (command) => command.option('--json', 'print the plan as JSON'),
  run: async (options, surroundings) => {
    const config = configOf(options, surroundings);
    const declared = await lastDeclaration(config, surroundings);
    if (!declared) surroundings.stderr.write(noLedger(config));
    const exports = await withExportStates(config, surroundings, lastExports);
    const last = { ...(declared ?? NO_DECLARATION), exports };
    const planned = await withRouting(planOf(last, config), last, config, {
      leads: () => newestLeads(config, surroundings, TRIED_LEADS),
      sentPending: (sink) => sentPending(config, surroundings, sink),
    });
    const changed = await changedOptions(config);
    if (options.json) surroundings.stdout.write(printJson({ ...planned, options: changed ?? null }));
    else {
      const lines = describePlan(planned);
      const text = [...(lines.length > 0 ? lines : [NOTHING]), ...optionLines(changed)].map(printable);
      surroundings.stdout.write(`${withTypedCommands(text.join('\n'), surroundings)}\n`);
    }
    return ExitCode.done;
  },
});

/** Returns a note that there is no ledger. A configuration in another folder may name another data directory by mistake. */
function noLedger(config: Config): string {
  const { file, where } = ledgerPlaceOf(config);
  if (file === undefined) return `There is no ledger in ${printable(where)}, so everything counts as new.\n`;
  return `There is no ledger in ${printable(where)} (data_dir), so everything counts as new. A relative data_dir begins at the folder of the configuration file.\n`;
}

/** Asks the running leadsync for the options that would change. Returns undefined if none runs with this file, or if it does not say. */
async function changedOptions(config: Config): Promise<readonly ChangedOption[] | undefined> {
  const target = isDataDirInUse(config.dataDir) ? daemonTarget(config) : undefined;
  if (!target) return undefined;
  const path = '/api/v1/configuration/changes';
  const answer = await askDaemon(target, path, { token: config.adminToken, maxBytes: MAX_BYTES });
  if ('failure' in answer || answer.status !== 200) return undefined;
  const { file, options } = JSON.parse(answer.body) as { file: string; options: ChangedOption[] | null };
  return file === config.file ? (options ?? undefined) : undefined;
}

function optionLines(changed: readonly ChangedOption[] | undefined): readonly string[] {
  if (!changed) return [NOT_COMPARED];
  if (changed.length === 0) return ['No option would change.'];
  return ['', 'Options that change:', ...changed.map((one) => `  ${describeChangedOption(one)}`)];
}

import { LedgerError } from '../../ledger/contract/ledger-error.ts';
import { type CheckResult, check as checkAll } from '../../operations/check.ts';
import { listenForStop } from '../../platform/process/stop-signals.ts';
import { printable, printJson } from '../../platform/text/printable.ts';
import { type Paint, paintFor } from '../shell/colour.ts';
import { defineCommand } from '../shell/command.ts';
import { configOf, withTypedCommands } from '../shell/context.ts';
import { ExitCode } from '../shell/exit-code.ts';
import { lastDeclaration } from '../shell/last-declaration.ts';
import { printWarnings } from '../shell/print-warnings.ts';

/** `leadsync check`: checks whether every source and destination can be reached. Delivers nothing. Continues after failures. */
export const command = defineCommand<{ json?: boolean }>({
  examples: ['leadsync check', "leadsync check --json | jq '.[] | select(.ok | not)'"],
  notes: 'Exit 0 if every check passes, else 69.',
  declare: (command) => command.option('--json', 'print the results as JSON'),
  run: async (options, surroundings) => {
    const config = configOf(options, surroundings);
    const stop = listenForStop(() => process.exit(ExitCode.notDone));
    printWarnings(config, surroundings.stderr);
    const paint = paintFor(surroundings);
    const results: CheckResult[] = [];
    const { clock, random } = surroundings;
    const last = lastDeclaration(config, surroundings).catch(unknownLedger);
    for (const pending of checkAll(config, { clock, random, last }, stop.signal)) {
      const result = await pending;
      results.push(result);
      if (!options.json) surroundings.stdout.write(withTypedCommands(line(result, paint), surroundings));
    }
    stop.release();
    if (options.json) surroundings.stdout.write(printJson(results));
    if (stop.signal.aborted) return ExitCode.notDone;
    return results.every(({ ok }) => ok) ? ExitCode.done : ExitCode.unreachable;
  },
});

/** Returns undefined for a ledger that cannot be read, so that the other checks still run. @throws any other error */
function unknownLedger(error: unknown): undefined {
  if (!(error instanceof LedgerError)) throw error;
}

function line({ kind, name, ok, detail, hint }: CheckResult, paint: Paint): string {
  const what = name ? `${kind} ${name}` : kind;
  const next = hint ? ` ${printable(hint)}` : '';
  return `${ok ? paint('good', 'ok    ') : paint('bad', 'FAILED')}  ${what}: ${printable(detail)}${next}\n`;
}

import { ledgerPlaceOf } from '../operations/opening/configured-ledger.ts';
import { exportOnce } from '../operations/scheduled-exports.ts';
import { listenForStop } from '../platform/process/stop-signals.ts';
import { printable } from '../platform/text/printable.ts';
import { requireName } from './arguments/require-name.ts';
import { CommandFailure } from './shell/command-failure.ts';
import { configOf, type GlobalOptions, type Surroundings, withExportStates } from './shell/context.ts';
import { ExitCode } from './shell/exit-code.ts';
import { recordAction } from './shell/record-action.ts';

/** Runs a configured export now, whether leadsync is running or not. The run counts as a scheduled one. @throws CommandFailure */
export async function makeScheduled(
  options: GlobalOptions & { readonly name: string },
  surroundings: Surroundings,
): Promise<number> {
  const { name } = options;
  const { clock, random, stdout } = surroundings;
  const config = configOf(options, surroundings);
  requireName(
    'export',
    name,
    config.exports.map((one) => one.name),
  );
  const chosen = config.exports.find((one) => one.name === name) as (typeof config.exports)[number];
  await recordAction(config, surroundings, 'export', { name });
  const stop = listenForStop((signal) => process.exit(signal === 'SIGINT' ? 130 : 143));
  const { tables: ledger } = ledgerPlaceOf(config);
  const { result } = await withExportStates(config, surroundings, (states) =>
    exportOnce(chosen, { states, ledger, clock, random, niceness: 0 }, stop.signal),
  ).finally(() => stop.release());
  switch (result.kind) {
    case 'made': {
      const removed = result.removed > 0 ? `Older exports removed: ${result.removed}\n` : '';
      stdout.write(`${result.rows} rows\n${removed}Wrote ${printable(result.place)}\n`);
      return ExitCode.done;
    }
    case 'failed':
      throw new CommandFailure(ExitCode.notDone, printable(result.message), printable(result.hint));
    case 'busy':
      throw new CommandFailure(ExitCode.notDone, `Export ${name} is already running.`, 'Nothing was done.');
    case 'stopped':
      throw new CommandFailure(ExitCode.notDone, 'The export was stopped. No partial file was left.');
  }
}

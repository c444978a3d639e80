import { type AlertTestResult, testAlert as test } from '../../operations/test-alert.ts';
import { listenForStop } from '../../platform/process/stop-signals.ts';
import { printable, printJson } from '../../platform/text/printable.ts';
import { didYouMean } from '../../platform/text/suggest.ts';
import { defineCommand } from '../shell/command.ts';
import { CommandFailure } from '../shell/command-failure.ts';
import { configOf, withTypedCommands } from '../shell/context.ts';
import { ExitCode } from '../shell/exit-code.ts';
import { recordAction } from '../shell/record-action.ts';

/** `leadsync test-alert`: sends a notice that is marked as a test to one alert destination, or to all. */
export const command = defineCommand<{ json?: boolean }>({
  examples: ['leadsync test-alert', 'leadsync test-alert ops'],
  notes: 'Works whether leadsync is running or not. Exit 0 if every destination accepted its test, else 69.',
  declare: (command) => command.option('--json', 'print the results as JSON'),
  run: async ({ json, ...options }, surroundings, [wanted]) => {
    const config = configOf(options, surroundings);
    const { name: installation, publicUrl } = config;
    const { to } = config.alerts;
    const from = { name: installation, url: publicUrl };
    const names = namesFrom(Object.keys(to), wanted);
    await recordAction(config, surroundings, 'test-alert', { to: names.join(', ') });
    const stop = listenForStop(() => process.exit(ExitCode.notDone));
    const results = await Promise.all(
      Object.entries(to).flatMap(([name, one]) =>
        names.includes(name) ? [test(name, one, from, surroundings.clock, stop.signal)] : [],
      ),
    );
    stop.release();
    surroundings.stdout.write(
      json ? printJson(results) : withTypedCommands(results.map(line).join(''), surroundings),
    );
    return results.every(({ ok }) => ok) ? ExitCode.done : ExitCode.unreachable;
  },
});

function namesFrom(known: readonly string[], wanted: string | undefined): readonly string[] {
  if (known.length === 0)
    throw new CommandFailure(
      ExitCode.notDone,
      'The configuration has no alert destination.',
      'Add one under `alerts.to`: docs/configuration.md describes the options.',
    );
  if (wanted === undefined) return known;
  if (known.includes(wanted)) return [wanted];
  const nearest = didYouMean(wanted, known);
  throw new CommandFailure(
    ExitCode.usage,
    `There is no alert destination "${printable(wanted)}"${nearest ? `: ${nearest}` : '.'}`,
    `The alert destinations are: ${known.join(', ')}.`,
  );
}

function line({ name, ok, detail, hint }: AlertTestResult): string {
  return `${ok ? 'ok    ' : 'FAILED'}  ${name}: ${printable(detail)}${hint ? ` ${printable(hint)}` : ''}\n`;
}

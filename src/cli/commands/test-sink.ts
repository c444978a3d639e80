import { testSink as test } from '../../operations/test-sink.ts';
import { listenForStop } from '../../platform/process/stop-signals.ts';
import { printable, printJson } from '../../platform/text/printable.ts';
import { requireSink } from '../arguments/require-name.ts';
import { defineCommand } from '../shell/command.ts';
import { configOf, withTypedCommands } from '../shell/context.ts';
import { ExitCode } from '../shell/exit-code.ts';
import { recordAction } from '../shell/record-action.ts';

/** `leadsync test-sink SINK`: sends one test event. */
export const command = defineCommand<{ json?: boolean }>({
  examples: ['leadsync test-sink crm', 'leadsync test-sink warehouse --json'],
  notes:
    'A webhook gets an event of type lead.test, a folder gets a file test-….csv.test, and PostgreSQL gets a row in a transaction that is rolled back. The test lead is fictitious. Exit 0 if the destination accepted the event, else 69.',
  declare: (command) => command.option('--json', 'print the result as JSON'),
  run: async (options, surroundings, [sink = '']) => {
    const config = configOf(options, surroundings);
    requireSink(sink, config);
    await recordAction(config, surroundings, 'test', { sink });
    const stop = listenForStop(() => process.exit(ExitCode.notDone));
    const { clock, stdout } = surroundings;
    const { arrived, durationMs, what } = await test(config, sink, { clock, signal: stop.signal });
    stop.release();
    stdout.write(
      options.json
        ? printJson({ sink, arrived, duration_ms: durationMs, what })
        : withTypedCommands(
            `${arrived ? 'ok    ' : 'FAILED'}  sink ${sink}: ${printable(what)} (${durationMs} ms)\n`,
            surroundings,
          ),
    );
    return arrived ? ExitCode.done : ExitCode.unreachable;
  },
});

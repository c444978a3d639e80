import { type FollowEvent, followLedger } from '../../operations/follow-ledger.ts';
import { openConfiguredLedger } from '../../operations/opening/configured-ledger.ts';
import { listenForStop } from '../../platform/process/stop-signals.ts';
import { printableLines } from '../../platform/text/printable.ts';
import { requireName, requireSink, sourceNames } from '../arguments/require-name.ts';
import { paintFor } from '../shell/colour.ts';
import { defineCommand } from '../shell/command.ts';
import { readableConfigOf, withLedger } from '../shell/context.ts';
import { ExitCode } from '../shell/exit-code.ts';
import { recordAction } from '../shell/record-action.ts';
import { feedJson, feedLine, isAbout, isShown } from '../views/feed-entry.ts';

interface Options {
  readonly sink?: string;
  readonly source?: string;
  readonly showData?: boolean;
  readonly json?: boolean;
}

/** `leadsync tail`: prints polls, leads and attempts as they happen, until Ctrl-C. */
export const command = defineCommand<Options>({
  examples: [
    'leadsync tail',
    'leadsync tail --sink crm',
    'leadsync tail --json | jq -c \'select(.outcome == "refused")\'',
  ],
  notes:
    'It reads the ledger and starts from now; for the past use `leadsync trace` and `leadsync deliveries`. Times are in UTC. Polls that found nothing are left out; consecutive attempts with the same failure are shown once.',
  declare: (command) =>
    command
      .option('--sink <name>', 'only attempts and state changes of this sink')
      .option('--source <name>', 'only polls, leads and attempts of this source')
      .option(
        '--show-data',
        "also show the content of leads and the destinations' answers, which hold personal data",
      )
      .option('--json', 'print one JSON object per line'),
  run: async (options, surroundings) => {
    const config = readableConfigOf(options, surroundings);
    await withLedger(config, surroundings, async (ledger) => {
      const status = await ledger.status();
      requireSink(options.sink, config, status);
      requireName('source', options.source, sourceNames(config, status));
    });
    if (options.showData) await recordAction(config, surroundings, 'reveal', { as: 'tail' });
    const { stdout, clock } = surroundings;
    const stop = listenForStop(() => process.exit(ExitCode.notDone));
    const unread = new AbortController();
    stdout.on?.('error', () => unread.abort());
    const paint = paintFor(surroundings);
    const lineOf = options.json ? jsonLine : (event: FollowEvent) => feedLine(event, paint);
    const happened = followLedger({
      open: () => openConfiguredLedger(config, { ...surroundings, create: false }),
      clock,
      signal: AbortSignal.any([stop.signal, unread.signal]),
      withData: options.showData === true,
    });
    for await (const some of happened) {
      const told = some.filter((one) => isAbout(one, options) && isShown(one));
      stdout.write(told.map(lineOf).join(''));
    }
    stop.release();
    return ExitCode.done;
  },
});

function jsonLine(event: FollowEvent): string {
  return `${printableLines(JSON.stringify(feedJson(event)))}\n`;
}

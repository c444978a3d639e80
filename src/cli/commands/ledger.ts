import { CopyFailed, type CopyParts, copyLedger, type Engine } from '../../operations/copying/copy-ledger.ts';
import { acceptNewLedger } from '../../operations/opening/accept-ledger.ts';
import { ledgerPlaceOf } from '../../operations/opening/configured-ledger.ts';
import { listenForStop } from '../../platform/process/stop-signals.ts';
import { printable } from '../../platform/text/printable.ts';
import { defineCommand } from '../shell/command.ts';
import { CommandFailure } from '../shell/command-failure.ts';
import {
  type GlobalOptions,
  ledgerConfigOf,
  type Surroundings,
  withTypedCommands,
} from '../shell/context.ts';
import { ExitCode } from '../shell/exit-code.ts';
import { recordAction } from '../shell/record-action.ts';
import { RowProgress } from '../shell/row-progress.ts';
import { copyText } from '../views/copy-text.ts';

interface Options extends GlobalOptions {
  readonly from?: string;
  readonly to?: string;
  readonly dryRun?: boolean;
}

/** `leadsync ledger ACTION`: creates a new ledger if leadsync refuses to do so by itself, or copies the ledger to another engine. */
export const command = defineCommand<Options>({
  examples: [
    'leadsync ledger accept',
    'leadsync ledger copy --from sqlite --to postgres --dry-run',
    'leadsync ledger copy --from sqlite --to postgres',
    'leadsync ledger copy --from postgres --to sqlite',
  ],
  notes:
    'leadsync does not create a ledger by itself if there are signs of an earlier one; accept does. With a new ledger, every listed lead is delivered again to every sink, except sinks with `backfill: false`. accept also lets leadsync work again on a ledger that was moved.\ncopy moves the ledger from data_dir to the server of ledger.url, or back. Stop leadsync and its workers first. If a copy was stopped, the same command continues it. At the end both are compared, and the old ledger is marked as moved.\nExit 0 if the copy is complete, 75 if leadsync or a worker is running, 69 if the server cannot be reached, else 1.',
  declare: (command) =>
    command
      .option(
        '--from <engine>',
        'with copy: the ledger to copy, `sqlite` (in data_dir) or `postgres` (at ledger.url)',
      )
      .option('--to <engine>', 'with copy: where to copy it, `postgres` or `sqlite`')
      .option('--dry-run', 'with copy: check both and count the rows, but change nothing'),
  run: async (options, surroundings, [action]) => {
    if (action === 'copy') return copy(options, surroundings);
    requireNoCopyOption(options);
    if (action === 'accept') return accept(options, surroundings);
    throw new CommandFailure(
      ExitCode.usage,
      `ledger has no action "${printable(String(action))}".`,
      action === 'backup'
        ? '`leadsync backup --to FOLDER` makes a backup, and `leadsync restore FILE` restores it.'
        : 'The actions are `accept` and `copy`: `leadsync ledger accept`.',
    );
  },
});

function requireNoCopyOption({ from, to, dryRun }: Options): void {
  if (from === undefined && to === undefined && !dryRun) return;
  throw new CommandFailure(ExitCode.usage, '--from, --to and --dry-run belong to `leadsync ledger copy`.');
}

/** Returns the engine to copy from. @throws CommandFailure */
function engineOf({ from, to }: Options): Engine {
  if (from === 'sqlite' && to === 'postgres') return 'sqlite';
  if (from === 'postgres' && to === 'sqlite') return 'postgres';
  throw new CommandFailure(
    ExitCode.usage,
    'ledger copy needs two different engines.',
    'Write `--from sqlite --to postgres`, or `--from postgres --to sqlite`.',
  );
}

async function copy(options: Options, surroundings: Surroundings): Promise<number> {
  const from = engineOf(options);
  const dryRun = options.dryRun === true;
  const config = ledgerConfigOf(options, surroundings);
  const { clock, random, stdout, stderr } = surroundings;
  // The ledger that exists is the source: a server may have an unfinished copy, which nothing else opens.
  const source = from === 'sqlite' ? { ...config, ledgerServer: undefined } : config;
  if (!dryRun) await recordAction(source, surroundings, 'ledger-copy', { from });
  const stop = listenForStop(() => process.exit(ExitCode.notDone));
  const progress = new RowProgress(stderr);
  const parts: CopyParts = {
    clock,
    random,
    signal: stop.signal,
    onProgress: (table, rows, share) =>
      progress.reportProgress(table, rows, `copied (${Math.floor(share * 100)}% of all)`),
    onCompare: () => progress.say('Comparing both ledgers …'),
  };
  const copied = await copyLedger(config, { from, dryRun }, parts)
    .catch((error: unknown) => {
      throw stop.signal.aborted && error === stop.signal.reason ? STOPPED : explain(error);
    })
    .finally(() => {
      progress.end();
      stop.release();
    });
  const next =
    from === 'sqlite'
      ? 'Keep ledger.url, and start leadsync.\n'
      : 'Remove ledger.url from the configuration, then start leadsync.\n';
  stdout.write(withTypedCommands(copyText(copied, dryRun) + (dryRun ? '' : next), surroundings));
  return ExitCode.done;
}

const STOPPED = new CommandFailure(
  ExitCode.notDone,
  'The copy was stopped.',
  'The same command continues it. To use the old ledger again instead, remove the unfinished copy; if it says that it was moved, give `leadsync ledger accept`.',
);

function explain(error: unknown): unknown {
  return error instanceof CopyFailed
    ? new CommandFailure(ExitCode.notDone, printable(error.message), printable(error.hint))
    : error;
}

async function accept(options: GlobalOptions, surroundings: Surroundings): Promise<number> {
  const config = ledgerConfigOf(options, surroundings);
  const isRecorded = await recordAction(config, surroundings, 'ledger-accept');
  const { made, lifted, aside } = await acceptNewLedger(config, surroundings);
  if (!isRecorded) await recordAction(config, surroundings, 'ledger-accept');
  const { stdout } = surroundings;
  const { where } = ledgerPlaceOf(config);
  for (const path of aside) stdout.write(`${printable(path)} holds what is left of the old ledger.\n`);
  if (lifted) {
    stdout.write(`leadsync uses the ledger in ${printable(where)} again, although it was moved.\n`);
    return ExitCode.done;
  }
  stdout.write(
    made
      ? withTypedCommands(
          `There is a new ledger in ${printable(where)}. The next \`leadsync run\` delivers every listed lead to every sink with \`backfill\`.\n`,
          surroundings,
        )
      : `There already is a ledger in ${printable(where)}: nothing was done.\n`,
  );
  return ExitCode.done;
}

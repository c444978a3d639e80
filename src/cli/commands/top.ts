import type { LedgerConfig, SecretOption } from '../../config/contract/config.ts';
import { ConfigError, formatFault } from '../../config/contract/config-error.ts';
import type { Ledger } from '../../ledger/contract/ledger.ts';
import { LedgerError } from '../../ledger/contract/ledger-error.ts';
import type { LedgerStatus } from '../../ledger/contract/status-rows.ts';
import { diskSpace } from '../../operations/disk-space.ts';
import { openConfiguredLedger } from '../../operations/opening/configured-ledger.ts';
import { listenForStop } from '../../platform/process/stop-signals.ts';
import { printJson } from '../../platform/text/printable.ts';
import type { ExportView } from '../../status/export-view.ts';
import { findProblems } from '../../status/problems/find-problems.ts';
import type { DiskSpace, ProblemContext } from '../../status/problems/problem.ts';
import { verdictJson } from '../../status/status-json.ts';
import { viewSinks, viewSources } from '../../status/status-view.ts';
import { askRunningDaemon, NOT_RUNNING, type RunningDaemon } from '../running/running-daemon.ts';
import { paintFor } from '../shell/colour.ts';
import { defineCommand } from '../shell/command.ts';
import { CommandFailure } from '../shell/command-failure.ts';
import {
  commandFormatter,
  exportViewsOf,
  faultsNote,
  type GlobalOptions,
  lenientConfigOf,
  type Surroundings,
  secretsOf,
  widthOf,
} from '../shell/context.ts';
import { ExitCode } from '../shell/exit-code.ts';
import { FullScreen } from '../views/full-screen.ts';
import { throughputOf } from '../views/throughput.ts';
import { type FrameContent, topFrame } from '../views/top-frame.ts';
import { topJson } from '../views/top-json.ts';

/** Interval between frames, in ms. */
const FRAME_MS = 1_000;
/** Number of frames after which the command reads the configuration and asks the running leadsync again. */
const ASK_EVERY = 5;
/** Maximum number of attempts from which the throughput is computed. */
const ATTEMPTS = 5_000;

interface Options {
  readonly once?: boolean;
  readonly json?: boolean;
}

/** `leadsync top`: shows the flow of leads live in the terminal. */
export const command = defineCommand<Options>({
  examples: [
    'leadsync top',
    'leadsync top --once',
    'watch -n 10 leadsync top --once',
    "leadsync top --once --json | jq '.sinks[] | {sink, delivered_per_minute}'",
  ],
  notes:
    'Press q or Ctrl-C to quit. FRESHNESS is the time since the last complete listing. SPEED is the time from first seen to delivered, over the new leads of the last hour. Rates cover the last minute; consecutive attempts with the same failure count as one.',
  declare: (command) => {
    command
      .option('--once', 'print one frame and exit, for pipes')
      .option('--json', 'with --once: print the frame as JSON, including the output of `status --json`');
  },
  run: async (options, surroundings) => {
    if (options.json && !options.once) throw NOT_LIVE;
    const watch = new Watch(options, surroundings);
    try {
      await watch.read();
      if (options.once) {
        const frame = () => `${watch.frame(widthOf(surroundings)).join('\n')}\n`;
        surroundings.stdout.write(options.json ? printJson(watch.json()) : frame());
        return ExitCode.done;
      }
      requireTerminal(surroundings);
      await live(watch, surroundings);
      return ExitCode.done;
    } finally {
      await watch.close();
    }
  },
});

const NOT_LIVE = new CommandFailure(
  ExitCode.usage,
  '--json needs --once.',
  '`leadsync top --once --json` prints one frame.',
);

function requireTerminal({ stdout, stdin }: Surroundings): void {
  if (stdout.isTTY && stdin.isTTY) return;
  throw new CommandFailure(
    ExitCode.usage,
    'The live display needs a terminal for input and output.',
    '`leadsync top --once` prints one frame; `leadsync status --json` is for programs.',
  );
}

async function live(watch: Watch, surroundings: Surroundings): Promise<void> {
  const ended = new AbortController();
  const stop = listenForStop(() => process.exit(ExitCode.notDone));
  const signal = AbortSignal.any([stop.signal, ended.signal]);
  const draw = () => screen.show(watch.frame(screen.columns));
  const screen = new FullScreen(surroundings, { end: () => ended.abort(), resize: draw });
  try {
    while (!signal.aborted) {
      draw();
      await surroundings.clock.sleep(FRAME_MS, signal);
      await watch.readAgain();
    }
  } finally {
    screen.close();
    stop.release();
  }
}

/** The data for a frame. `status` is undefined before the first read. */
interface Read extends Pick<FrameContent, 'sources' | 'sinks'> {
  readonly attempts: Awaited<ReturnType<Ledger['recentAttempts']>>;
  readonly status: LedgerStatus | undefined;
}

/** The data for the display, read repeatedly. If a read fails, the frame keeps the previous data and says that it is out of date. */
class Watch {
  readonly #options: GlobalOptions;
  readonly #surroundings: Surroundings;
  #config: LedgerConfig;
  #secrets: readonly SecretOption[] | undefined;
  #ledger: Ledger | undefined;
  #holder: RunningDaemon = NOT_RUNNING;
  #read: Read = { sources: [], sinks: [], attempts: [], status: undefined };
  #disk: DiskSpace | undefined;
  #exports: readonly ExportView[] = [];
  #unread: string | undefined;
  #frames = 0;

  constructor(options: GlobalOptions, surroundings: Surroundings) {
    this.#options = options;
    this.#surroundings = surroundings;
    this.#config = lenientConfigOf(options, surroundings);
    this.#secrets = secretsOf(this.#config, options, surroundings);
  }

  /** @throws LedgerError */
  async read(): Promise<void> {
    if (this.#frames++ % ASK_EVERY === 0) this.#holder = await askRunningDaemon(this.#config);
    if (await this.#ledger?.isReplaced()) await this.close();
    this.#ledger ??= await openConfiguredLedger(this.#config, { ...this.#surroundings, create: false });
    const [status, attempts] = [await this.#ledger.status(), await this.#ledger.recentAttempts(ATTEMPTS)];
    const [sources, sinks] = [viewSources(this.#config, status), viewSinks(this.#config, status)];
    this.#read = { sources, sinks, attempts, status };
    this.#disk = await diskSpace(this.#config);
    this.#exports = await exportViewsOf(this.#config, this.#surroundings);
    this.#unread = undefined;
  }

  async readAgain(): Promise<void> {
    try {
      if (this.#frames % ASK_EVERY === 0) this.#readConfig();
      await this.read();
    } catch (error) {
      if (!(error instanceof LedgerError)) throw error;
      this.#unread = `This display is out of date. ${error.message}`;
      await this.close();
    }
  }

  #readConfig(): void {
    try {
      this.#config = lenientConfigOf(this.#options, this.#surroundings);
      this.#secrets = secretsOf(this.#config, this.#options, this.#surroundings);
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error; // keep the previous configuration, as a running leadsync does
    }
  }

  frame(columns: number | undefined): string[] {
    const now = this.#surroundings.clock.now();
    const { sources, sinks, attempts } = this.#read;
    const faults = this.#holder.stale
      ? undefined
      : faultsNote(this.#config, this.#options, this.#surroundings);
    const given = { ...this.#context(now), columns, paint: paintFor(this.#surroundings) };
    return topFrame({
      installation: this.#config.name,
      sources,
      sinks,
      throughput: throughputOf(attempts, ATTEMPTS, now),
      given,
      unread: this.#unread ?? faults,
    });
  }

  #context(now: Date): ProblemContext {
    return {
      now,
      ...this.#holder,
      exports: this.#exports,
      secrets: () => this.#secrets,
      namesOrigins: true,
      disk: this.#disk,
      restoredAt: this.#read.status?.restoredAt,
      machines: this.#read.status?.machines,
      queued: this.#config.queue.redis !== undefined,
      command: commandFormatter(this.#options, this.#surroundings),
    };
  }

  /** Returns the frame as JSON; undefined before the first read. */
  json(): object | undefined {
    const { status, attempts, sources, sinks } = this.#read;
    if (status === undefined) return undefined;
    const { running, unready, stale } = this.#holder;
    const now = this.#surroundings.clock.now();
    const context = this.#context(now);
    const throughput = throughputOf(attempts, ATTEMPTS, now);
    return {
      installation: this.#config.name ?? null,
      running,
      unready,
      config_stale: stale ?? null,
      ...verdictJson(
        findProblems(sources, sinks, context),
        (this.#config.faults ?? []).map(formatFault),
        this.#config.publicUrl,
      ),
      ...topJson(this.#config, status, context.exports, throughput),
    };
  }

  async close(): Promise<void> {
    const ledger = this.#ledger;
    this.#ledger = undefined;
    await ledger?.close();
  }
}

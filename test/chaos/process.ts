import { createWriteStream, readFileSync, type WriteStream } from 'node:fs';
import { join } from 'node:path';
import { type Exit, type RunningLeadsync, startLeadsync } from '../support/program/leadsync.ts';
import type { Spell } from './deed.ts';
import type { Troubles } from './repeats.ts';

/** How a leadsync process is started. */
export interface Start {
  /** The value of `LEADSYNC_FAILPOINTS`. */
  readonly failpoints: string | undefined;
  /** Whether it delivers; false leaves deliveries to the workers. */
  readonly deliver: boolean;
  /** Time until it is restarted after a failpoint ended it, in ms. */
  readonly afterMs: number;
}

export interface ProcessOptions {
  readonly name: string;
  /** Returns the command line of a start. */
  readonly args: (start: Start) => readonly string[];
  /** The successive starts. */
  readonly starts: readonly Start[];
  /** The folder of its log. */
  readonly logFolder: string;
  readonly say: (text: string) => void;
  /** The name of its machine. */
  readonly machine: string;
  /** Returns why it may have ended by itself, having run since then, by `performance.now()`, if there is a reason. */
  readonly excuse: (sinceMs: number) => string | undefined;
}

/** The start once everything is healed: without failpoints. */
const UNARMED: Start = { failpoints: undefined, deliver: true, afterMs: 200 };
/** Maximum duration of an orderly stop, in ms: `stop.grace`, the time for closing, and a margin for a slow machine. */
const STOP_MS = 20_000;
/** Time after which a process that a failpoint has frozen is resumed, in ms. */
const THAW_MS = 3_000;

/** A leadsync process as a supervisor sees it: it is restarted whenever it ends. Records every end that was not requested. */
export class Process {
  readonly name: string;
  /** What it did that no leadsync should do. */
  readonly faults: string[] = [];
  /** When it ended, and when it was frozen. */
  readonly ends: Troubles['ends'][number][] = [];
  readonly frozen: Spell[] = [];
  kills = 0;
  peakMb = 0;
  /** Everything that it wrote to standard error and output, over all its starts. */
  written = '';
  readonly #options: ProcessOptions;
  readonly #log: WriteStream;
  #starts: readonly Start[];
  #next = 0;
  #running: RunningLeadsync | undefined;
  #start: Start = UNARMED;
  #asked: NodeJS.Signals | undefined;
  #wanted = false;
  #startedMs = 0;
  #again: NodeJS.Timeout | undefined;
  #thaw: NodeJS.Timeout | undefined;
  /** When it was last seen running, not frozen. */
  #movingMs = 0;
  #frozenSinceMs: number | undefined;

  constructor(options: ProcessOptions) {
    this.name = options.name;
    this.#options = options;
    this.#starts = options.starts;
    this.#log = createWriteStream(join(options.logFolder, `${options.name}.log`));
  }

  /** Whether it runs without failpoints and with deliveries. */
  get sound(): boolean {
    return this.#running !== undefined && this.#start.failpoints === undefined && this.#start.deliver;
  }

  /** Whether it has loaded its program and reported that it runs. */
  get isUp(): boolean {
    return this.#running?.stderr.includes('"event":"started"') === true;
  }

  /** Starts it unless it is running. */
  start(): void {
    this.#wanted = true;
    clearTimeout(this.#again);
    if (this.#running !== undefined) return;
    this.#start = this.#starts[this.#next++] ?? UNARMED;
    this.#asked = undefined;
    this.#startedMs = performance.now();
    const { failpoints } = this.#start;
    if (failpoints !== undefined) this.#options.say(`armed with ${failpoints}`);
    const running = startLeadsync(this.#options.args(this.#start), {
      env: { LEADSYNC_FAILPOINTS: failpoints, LEADSYNC_MACHINE: this.#options.machine },
      onStderr: (text) => void this.#log.write(text),
    });
    this.#running = running;
    this.#movingMs = this.#startedMs;
    // A process that has not loaded its program dies of the signal itself, and nothing of it is running.
    running.process.once('exit', (code, signal) => this.#noteEnd(code === 0 || signal === 'SIGTERM'));
    if (failpoints?.includes('freeze')) this.#thaw = setInterval(() => this.thaw(), THAW_MS);
    void running.exited.then((exit) => this.#ended(running, exit));
  }

  /** Ends it with a signal and does not restart it. It must obey a SIGTERM. */
  async end(signal: NodeJS.Signals): Promise<void> {
    this.#wanted = false;
    clearTimeout(this.#again);
    const running = this.#running;
    if (running === undefined) return;
    this.#asked = signal;
    const insist = setTimeout(() => {
      this.faults.push(`${this.name} was still there ${STOP_MS / 1000} s after ${signal}`);
      running.process.kill('SIGKILL');
    }, STOP_MS);
    await running.kill(signal);
    clearTimeout(insist);
  }

  freeze(): void {
    this.measure();
    this.#frozenSinceMs ??= performance.now();
    this.#running?.process.kill('SIGSTOP');
  }

  thaw(): void {
    this.measure();
    this.#running?.process.kill('SIGCONT');
    this.#noteGoingOn();
  }

  /** Makes later starts unarmed, with deliveries. */
  calm(): void {
    this.#starts = [];
  }

  /** Returns how often its log contains an event, over all its starts until the last end. */
  count(event: string): number {
    return this.written.split(`"event":"${event}"`).length - 1;
  }

  /** Measures its memory, and whether it is frozen. */
  measure(): void {
    try {
      const status = readFileSync(`/proc/${this.#running?.process.pid}/status`, 'utf8');
      if (/^State:\s+T/m.test(status)) this.#frozenSinceMs ??= this.#movingMs;
      else this.#movingMs = performance.now();
      this.peakMb = Math.max(this.peakMb, Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1] ?? 0) / 1024);
    } catch {
      // The process is not running now, or this is not Linux.
    }
  }

  #noteEnd(inOrder: boolean): void {
    this.#noteGoingOn();
    this.ends.push({ atMs: performance.now(), inOrder });
  }

  #noteGoingOn(): void {
    const toMs = performance.now();
    if (this.#frozenSinceMs !== undefined) this.frozen.push({ fromMs: this.#frozenSinceMs, toMs });
    this.#frozenSinceMs = undefined;
    this.#movingMs = toMs;
  }

  #ended(running: RunningLeadsync, exit: Exit): void {
    clearInterval(this.#thaw);
    this.written += running.stdout + running.stderr;
    this.#running = undefined;
    if (exit.signal === 'SIGKILL') this.kills += 1;
    const excuse = this.#options.excuse(this.#startedMs);
    if (!this.#expected(running, exit)) {
      const how = `${this.name} ended by itself (${exit.signal ?? exit.code})`;
      if (excuse === undefined) this.faults.push(`${how}: ${lastWords(running.stderr)}`);
      this.#options.say(excuse === undefined ? how : `${how}, because ${excuse}`);
    }
    if (this.#wanted) this.#again = setTimeout(() => this.start(), this.#start.afterMs);
  }

  #expected({ stderr }: RunningLeadsync, { code, signal }: Exit): boolean {
    const byFailpoint = signal === 'SIGKILL' && this.#start.failpoints?.includes('kill') === true;
    if (byFailpoint) {
      this.#options.say(`killed at ${this.#start.failpoints}`);
      return true;
    }
    if (this.#asked !== 'SIGTERM') return this.#asked !== undefined && signal === this.#asked;
    // A process that is asked to stop before it has loaded its program dies of the signal itself.
    return code === 0 || (signal === 'SIGTERM' && !stderr.includes('"event":"started"'));
  }
}

/** Lines of the trace of an uncaught error that say enough to find it. */
const TRACE_LINES = 16;

/** Returns the last line that a process wrote, or the end of the trace of an uncaught error, which Node.js ends with its version. */
function lastWords(stderr: string): string | undefined {
  const lines = stderr.trimEnd().split('\n');
  return lines.at(-1)?.startsWith('Node.js v') ? lines.slice(-TRACE_LINES).join('\n    ') : lines.at(-1);
}

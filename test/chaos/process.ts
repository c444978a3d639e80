import { createWriteStream, readFileSync, type WriteStream } from 'node:fs';
import { join } from 'node:path';
import { type Exit, type RunningLeadsync, startLeadsync } from '../support/program/leadsync.ts';
import type { Spell } from './deed.ts';
import type { Troubles } from './repeats.ts';

/** How a leadsync is started. */
export interface Start {
  /** What `LEADSYNC_FAILPOINTS` asks for. */
  readonly failpoints: string | undefined;
  /** False: deliveries are left to the workers. */
  readonly deliver: boolean;
  /** How long it stays away when it ends by a failpoint, in ms. */
  readonly afterMs: number;
}

export interface ProcessOptions {
  readonly name: string;
  /** The command line of a start. */
  readonly args: (start: Start) => readonly string[];
  /** One after the other. */
  readonly starts: readonly Start[];
  /** Where what it writes is kept. */
  readonly logFolder: string;
  readonly say: (text: string) => void;
  /** Why it may have been unable to start since then, by `performance.now()`, where there is a reason. */
  readonly excuse: (sinceMs: number) => string | undefined;
}

/** Calm and orderly: how it is started once everything is healed. */
const UNARMED: Start = { failpoints: undefined, deliver: true, afterMs: 200 };
/** How long an ordered stop may take, in ms: `stop.grace`, what closing takes beyond it, and a slow machine. */
const STOP_MS = 20_000;
/** A process that has frozen itself at a failpoint is let go on after this time, in ms. */
const THAW_MS = 3_000;

/**
 * A leadsync process as a supervisor sees it: it is started again whenever it ends. Notes every end that nobody asked for.
 */
export class Process {
  readonly name: string;
  /** What it did that no leadsync should do. */
  readonly faults: string[] = [];
  /** When it ended, and when it stood still. */
  readonly ends: Troubles['ends'][number][] = [];
  readonly frozen: Spell[] = [];
  kills = 0;
  peakMb = 0;
  /** Everything that it wrote to standard error and output, of all its starts. */
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
  /** When it was last seen not to stand still. */
  #movingMs = 0;
  #frozenSinceMs: number | undefined;

  constructor(options: ProcessOptions) {
    this.name = options.name;
    this.#options = options;
    this.#starts = options.starts;
    this.#log = createWriteStream(join(options.logFolder, `${options.name}.log`));
  }

  /** Whether it runs as it was started for good: without failpoints, and with deliveries. */
  get sound(): boolean {
    return this.#running !== undefined && this.#start.failpoints === undefined && this.#start.deliver;
  }

  /** Starts it, unless it runs. */
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
      env: { LEADSYNC_FAILPOINTS: failpoints },
      onStderr: (text) => void this.#log.write(text),
    });
    this.#running = running;
    this.#movingMs = this.#startedMs;
    // Before it has loaded its program it ends by the signal itself, and nothing of it is under way.
    running.process.once('exit', (code, signal) => this.#noteEnd(code === 0 || signal === 'SIGTERM'));
    if (failpoints?.includes('freeze')) this.#thaw = setInterval(() => this.thaw(), THAW_MS);
    void running.exited.then((exit) => this.#ended(running, exit));
  }

  /** Ends it by a signal and does not start it again. A SIGTERM has to be obeyed. */
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

  /** From now on it is started unarmed, and with deliveries. */
  calm(): void {
    this.#starts = [];
  }

  /** How often its log tells of an event, in all of its starts until the last end. */
  count(event: string): number {
    return this.written.split(`"event":"${event}"`).length - 1;
  }

  /** Looks at how much memory it holds, and whether it stands still. */
  measure(): void {
    try {
      const status = readFileSync(`/proc/${this.#running?.process.pid}/status`, 'utf8');
      if (/^State:\s+T/m.test(status)) this.#frozenSinceMs ??= this.#movingMs;
      else this.#movingMs = performance.now();
      this.peakMb = Math.max(this.peakMb, Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1] ?? 0) / 1024);
    } catch {
      // It is not there at this moment, or this is no Linux.
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
      const last = running.stderr.trimEnd().split('\n').at(-1);
      if (excuse === undefined) this.faults.push(`${how}: ${last}`);
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
    // A process that is asked to stop before it has loaded its program ends by the signal itself.
    return code === 0 || (signal === 'SIGTERM' && !stderr.includes('"event":"started"'));
  }
}

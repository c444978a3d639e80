import { type ChildProcess, fork } from 'node:child_process';
import { extname } from 'node:path';
import type { Batch, Delivery } from '../leads/delivery.ts';
import type { Secret } from '../platform/options/secret.ts';
import { replacedProgram } from '../platform/process/replaced-program.ts';
import type { MappedOne } from './map-delivery.ts';
import type { ExpressionToTry, TriedExpression } from './try-expression.ts';

/** Idle time after which the process ends, to free its memory, in ms. */
const IDLE_MS = 60_000;
/** Maximum time for starting the process, in ms. */
const STARTING_MS = 30_000;
/** Maximum time of a job, in ms. */
const TIMEOUT_MS = 5_000;
/** Maximum number of jobs that wait for an earlier job. */
const MAX_WAITING = 10;
const MAX_BYTES = 384 * 1024 ** 2;
/** The signal with which the process ends itself when it uses more than `MAX_BYTES` of memory. */
const TOO_MUCH_MEMORY = 'SIGUSR2';

/** The jobs of a mapping process, by kind. */
export interface MappingJobs {
  /** Applies a sink's mapping to a delivery. */
  readonly map: {
    readonly job: { readonly delivery: Delivery; readonly ofSink: Pick<Batch, 'mapping' | 'sink'> };
    readonly result: MappedOne;
  };
  /** Evaluates an expression for a lead. */
  readonly try: {
    readonly job: { readonly delivery: Delivery; readonly expression: ExpressionToTry };
    readonly result: TriedExpression;
  };
}

/** A job as a message. The key of `hash` is in plain text, because the message is sent between processes; it is never stored. */
export type MappingJob = { readonly clientKey: string | undefined } & (
  | ({ readonly kind: 'map' } & MappingJobs['map']['job'])
  | ({ readonly kind: 'try' } & MappingJobs['try']['job'])
);

/** The first message to the process. */
export interface Started {
  /** The process ends when the process with this id does. */
  readonly parent: number;
  readonly maxBytes: number;
  readonly signal: NodeJS.Signals;
}

/** The job has no result: it took too long, it used too much memory, or the process could not do it. */
export class MappingEnded extends Error {
  override readonly name = 'MappingEnded';
  /** Whether the job itself is the cause, and not the state of this machine. */
  readonly isTooMuch: boolean;
  readonly hint: string;

  constructor(message: string, hint: string, isTooMuch: boolean) {
    super(message);
    this.hint = hint;
    this.isTooMuch = isTooMuch;
  }
}

/**
 * Applies mappings and evaluates expressions in a separate process, for people who try them out. An expression can be written to take many seconds
 * and gigabytes of memory, and V8 ends the whole process when one of its threads runs out of memory. Deliveries do not wait for this process. Does
 * one job at a time. The process starts with the first job and ends after a minute without jobs.
 */
export class MappingProcess {
  readonly #clientKey: () => Secret | undefined;
  readonly #timeoutMs: number;
  readonly #idleMs: number;
  #child: ChildProcess | undefined;
  #idle: NodeJS.Timeout | undefined;
  #last: Promise<unknown> = Promise.resolve();
  #unfinished = 0;
  #isClosed = false;

  /** `clientKey` returns the current key of the function `hash`. */
  constructor(
    clientKey: () => Secret | undefined,
    { timeoutMs = TIMEOUT_MS, idleMs = IDLE_MS }: { timeoutMs?: number; idleMs?: number } = {},
  ) {
    this.#clientKey = clientKey;
    this.#timeoutMs = timeoutMs;
    this.#idleMs = idleMs;
  }

  /** Whether the process is running. */
  get awake(): boolean {
    return this.#child !== undefined;
  }

  /** Does a job. @throws MappingEnded */
  async run<Kind extends keyof MappingJobs>(
    kind: Kind,
    job: MappingJobs[Kind]['job'],
  ): Promise<MappingJobs[Kind]['result']> {
    if (this.#unfinished > MAX_WAITING) throw busy();
    this.#unfinished += 1;
    clearTimeout(this.#idle);
    const clientKey = this.#clientKey()?.reveal();
    const result = this.#last.then(() => this.#resultOf({ kind, clientKey, ...job } as MappingJob));
    this.#last = result.catch(() => undefined);
    try {
      return (await result) as MappingJobs[Kind]['result'];
    } finally {
      this.#unfinished -= 1;
      if (this.#unfinished === 0) this.#idle = setTimeout(() => this.#end(), this.#idleMs).unref();
    }
  }

  /** Ends the process. Unfinished jobs fail. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#end();
    await this.#last;
  }

  async #resultOf(job: MappingJob): Promise<unknown> {
    if (this.#isClosed) throw failed('leadsync is stopping.');
    const child = this.#child ?? (await this.#start());
    const late = (limitMs: number) => {
      this.#end(); // the next job must not go to the process that is being killed
      return tooSlow(limitMs);
    };
    return answerOf(child, job, { limitMs: this.#timeoutMs, late });
  }

  /** Starts the process and waits until it has loaded its program, so that the loading time does not count against a job. */
  async #start(): Promise<ChildProcess> {
    const replaced = replacedProgram();
    if (replaced) throw new MappingEnded(replaced.message, replaced.hint, false);
    const program = new URL(`./mapping-process${extname(import.meta.url)}`, import.meta.url);
    const child = fork(program, { stdio: 'ignore', serialization: 'advanced', execArgv: [] });
    child.on('error', () => undefined); // the waiting job reports the error
    child.once('exit', () => {
      if (this.#child === child) this.#child = undefined;
    });
    this.#child = child;
    const started: Started = { parent: process.pid, maxBytes: MAX_BYTES, signal: TOO_MUCH_MEMORY };
    await answerOf(child, started, { limitMs: STARTING_MS, late: () => failed(NOT_STARTED) });
    return child;
  }

  #end(): void {
    clearTimeout(this.#idle);
    this.#child?.kill('SIGKILL');
    this.#child = undefined;
  }
}

/** Sends a message to the process and returns its answer. Ends a process that does not answer in time. @throws MappingEnded */
async function answerOf(
  child: ChildProcess,
  message: Started | MappingJob,
  { limitMs, late }: { readonly limitMs: number; readonly late: (limitMs: number) => MappingEnded },
): Promise<unknown> {
  const { promise, resolve, reject } = Promise.withResolvers<unknown>();
  const timer = setTimeout(() => {
    reject(late(limitMs));
    child.kill('SIGKILL');
  }, limitMs);
  const ended = (_code: number | null, signal: NodeJS.Signals | null) =>
    reject(signal === TOO_MUCH_MEMORY ? tooLarge() : failed(ENDED));
  const notStarted = () => reject(failed(NOT_STARTED));
  child.once('message', resolve).once('exit', ended).once('error', notStarted);
  child.send(message, (error) => error && notStarted());
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    child.off('message', resolve).off('exit', ended).off('error', notStarted);
  }
}

const NOT_STARTED = 'The process that evaluates expressions could not be started.';
const ENDED =
  'The process that evaluates expressions ended unexpectedly; another process or the operating system may have killed it.';

function failed(message: string): MappingEnded {
  return new MappingEnded(message, 'Try again in a moment.', false);
}

function busy(): MappingEnded {
  return failed('Too many expressions are waiting to be evaluated.');
}

function tooSlow(timeoutMs: number): MappingEnded {
  const hint = 'Use fewer nested loops.';
  return new MappingEnded(
    `It took longer than ${timeoutMs / 1000} s for this lead and was stopped.`,
    hint,
    true,
  );
}

function tooLarge(): MappingEnded {
  const hint = 'Produce shorter text and lists.';
  const used = `${MAX_BYTES / 1024 ** 2} MB of memory`;
  return new MappingEnded(`It used more than ${used} for this lead and was stopped.`, hint, true);
}

import { basename, join } from 'node:path';
import type { Batch, Delivery } from '../../leads/delivery.ts';
import { nestedJson } from '../../leads/mapped-fields.ts';
import type { Outcome, Refused } from '../../leads/outcome.ts';
import { codeOf } from '../../platform/failures/error-code.ts';
import { minimalEnvironment } from '../../platform/process/minimal-environment.ts';
import { printBytes } from '../../platform/text/human-readable.ts';
import { type AttemptUnderWay, type Preview, type Sink, type TestResult, WITHOUT_LEASE } from '../sink.ts';
import type { SinkParts } from '../sink-type.ts';
import { SinkUnavailable } from '../sink-unavailable.ts';
import { findProgram } from './find-program.ts';
import { findRefused } from './find-refused.ts';
import { jsonlProtocol } from './jsonl-protocol.ts';
import { type FailedRun, judgeRun, notStarted, runUnavailable } from './judge-run.ts';
import { LoneFailures } from './lone-failures.ts';
import { type ExecOptions, secretsOf } from './options.ts';
import { makePrivateFolder } from './private-folder.ts';
import type { ProgramProtocol } from './program-protocol.ts';
import { type Run, runProgram } from './run-program.ts';
import { singerProtocol } from './singer-protocol.ts';
import { CONFIG_NAME } from './start-program.ts';

/** Maximum time between SIGTERM and SIGKILL for a program that exceeds the timeout, in ms. */
const MAX_GRACE_MS = 5_000;
/** Fractional part of the golden ratio. Each of its multiples, modulo 1, is far from all earlier multiples. */
const GOLDEN = 0.618_033_988_75;

/** The deliveries of one lead, oldest first: a newer version must not be stored before an older one. */
type LeadDeliveries = readonly Delivery[];

/** Starts the program once per batch, and again to find the leads that it does not take. */
export class ExecSink implements Sink {
  readonly #options: ExecOptions;
  readonly #parts: SinkParts;
  readonly #program: string;
  readonly #env: Readonly<Record<string, string>>;
  readonly #secrets: readonly string[];
  readonly #closing = new AbortController();
  readonly #running = new Set<Promise<unknown>>();
  readonly #loneFailures = new LoneFailures();
  #searches = 0;

  constructor(options: ExecOptions, parts: SinkParts) {
    this.#options = options;
    this.#parts = parts;
    this.#program = options.command[0] ?? '';
    const own = Object.entries(options.env).map(([name, value]) => [name, value.reveal()]);
    this.#env = { ...minimalEnvironment(), ...Object.fromEntries(own) };
    this.#secrets = secretsOf(options);
  }

  /** Verifies that the program and its folders exist and can be used. Does not start the program. */
  async check(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    await this.#find();
    const folder = await this.#makeFolder();
    await folder?.remove();
  }

  async deliver(
    batch: Batch,
    signal: AbortSignal,
    under: AttemptUnderWay = WITHOUT_LEASE,
  ): Promise<readonly Outcome[]> {
    const outcomes = new Map<Delivery, Outcome>();
    for (const delivery of batch.deliveries) {
      const tooLarge = this.#tooLarge(delivery);
      if (tooLarge) outcomes.set(delivery, tooLarge);
    }
    const fitting = batch.deliveries.filter((delivery) => !outcomes.has(delivery));
    const leads = [...Map.groupBy(fitting, ({ source, leadId }) => `${source}:${leadId}`).values()];
    const attempted = leads.length > 0 ? await this.#attempt(batch, leads, signal, under) : [];
    for (const [delivery, outcome] of attempted) outcomes.set(delivery, outcome);
    return batch.deliveries.map((delivery) => outcomes.get(delivery) ?? { kind: 'untried' });
  }

  async test(batch: Batch, signal: AbortSignal): Promise<TestResult> {
    const failed = await this.#run(batch, signal, WITHOUT_LEASE, true)
      .then((run) => run && runUnavailable(this.#program, run))
      .catch((error: unknown) => {
        if (error instanceof SinkUnavailable && !error.unsent) return error;
        throw error;
      });
    if (!failed)
      return { arrived: true, what: `${basename(this.#program)} took it and ended with exit code 0.` };
    // The lead is the test lead, so standard error may be shown.
    const lines = failed.answer?.split(/\s*\n\s*/).join(' / ');
    const said = lines === undefined ? '' : ` Its standard error ends with: ${lines}`;
    return { arrived: false, what: `${failed.message}${said}` };
  }

  preview(batch: Batch): readonly Preview[] {
    const lines = [...this.#speech(batch, false).lines()];
    const target = `standard input of ${this.#program}`;
    return [{ target, fields: {}, content: lines.map((line) => `${line}\n`).join('') }];
  }

  /** Ends programs that are still running. */
  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.allSettled(this.#running);
  }

  async #attempt(
    batch: Batch,
    leads: readonly LeadDeliveries[],
    signal: AbortSignal,
    under: AttemptUnderWay,
  ): Promise<Iterable<readonly [Delivery, Outcome]>> {
    const attempt = (deliveries: readonly Delivery[]) => this.#run({ ...batch, deliveries }, signal, under);
    const all = leads.flat();
    const failed = await attempt(all);
    if (!failed) return all.map((delivery) => [delivery, { kind: 'delivered' }]);
    this.#searches += 1;
    return findRefused(leads, failed, attempt, {
      under,
      partMs: this.#parts.timeoutMs + this.#graceMs,
      offset: (this.#searches * GOLDEN) % 1,
      refused: (run) => this.#refused(run),
      isAtFault: ({ id }) => this.#loneFailures.isAtFault(id),
      unavailable: (run) => runUnavailable(this.#program, run),
    });
  }

  /** Runs the program once. Returns undefined if it took the leads. @throws SinkUnavailable */
  async #run(
    batch: Batch,
    signal: AbortSignal,
    under: AttemptUnderWay,
    isTest = false,
  ): Promise<FailedRun | undefined> {
    const stop = AbortSignal.any([signal, this.#closing.signal]);
    const file = await this.#find();
    const folder = await this.#makeFolder();
    try {
      if (stop.aborted)
        throw new SinkUnavailable('leadsync ended the attempt before it had begun.', {
          hint: '',
          unsent: true,
        });
      under.confirmLease();
      const speech = this.#speech(batch, isTest);
      const { command, config } = this.#options;
      const [, ...args] = command;
      const running = this.#keep(
        runProgram(
          {
            file,
            args: folder ? [...args, '--config', join(folder.path, CONFIG_NAME)] : args,
            cwd: this.#options.cwd,
            env: isTest ? { ...this.#env, LEADSYNC_TEST: '1' } : this.#env,
            config: folder && config && { folder: folder.path, content: config },
          },
          speech.lines(),
          {
            clock: this.#parts.clock,
            timeoutMs: this.#parts.timeoutMs,
            graceMs: this.#graceMs,
            stop,
            onLine: speech.wants && ((line) => speech.wants?.read(line)),
          },
        ),
      );
      const run = await running.catch((error: unknown) => {
        throw codeOf(error) === undefined ? error : notStarted(this.#program, error);
      });
      const failed = this.#judge(run, speech);
      if (!failed && !isTest) this.#loneFailures.noteTaken(batch.deliveries.map(({ id }) => id));
      return failed;
    } finally {
      await folder?.remove();
    }
  }

  #judge(run: Run, { wants }: ProgramProtocol): FailedRun | undefined {
    const { timeoutMs } = this.#parts;
    return judgeRun(run, { program: this.#program, timeoutMs, wants, secrets: this.#secrets });
  }

  #keep<T>(running: Promise<T>): Promise<T> {
    this.#running.add(running);
    const forget = () => this.#running.delete(running);
    running.then(forget, forget);
    return running;
  }

  #speech(batch: Batch, isTest: boolean): ProgramProtocol {
    const { speaks, ids } = this.#options;
    const form = { ids, isTest };
    return speaks === 'singer' ? singerProtocol(batch, form) : jsonlProtocol(batch.deliveries, form);
  }

  #find(): Promise<string> {
    return findProgram(this.#program, { cwd: this.#options.cwd, path: this.#env['PATH'] ?? '' });
  }

  async #makeFolder() {
    return this.#options.config && makePrivateFolder();
  }

  get #graceMs(): number {
    return Math.min(MAX_GRACE_MS, this.#parts.timeoutMs);
  }

  #refused({ what, answer }: FailedRun): Refused {
    return { kind: 'refused', reason: `${basename(this.#program)} ${what} for this lead alone.`, answer };
  }

  #tooLarge({ fields, raw }: Delivery): Refused | undefined {
    const { max_lead_size: max } = this.#options;
    const bytes = Buffer.byteLength(fields ? nestedJson(fields) : raw);
    if (bytes <= max) return undefined;
    const reason = `The lead has ${printBytes(bytes)}, and \`max_lead_size\` is ${printBytes(max)}.`;
    return { kind: 'refused', reason, unsent: true };
  }
}

import type { SourceConfig } from '../../config/contract/config.ts';
import type { Source } from '../../source/contract/source.ts';
import { openSource } from '../../source/http-source.ts';
import { type PollFailure, type PollParts, poll } from '../joints/poll.ts';
import { pollLoop } from '../joints/poll-loop.ts';
import { PollRequest } from '../joints/poll-request.ts';
import { ReportedRejections } from '../joints/reported-rejections.ts';
import { Loops } from '../joints/restarting-loops.ts';
import type { Parts } from '../start/compose.ts';

/** One running source under one configuration. */
export class SourceUnit {
  readonly #config: SourceConfig;
  readonly #parts: Parts;
  readonly #loops: Loops;
  readonly #request = new PollRequest();
  readonly #rejections = new ReportedRejections();
  #source: Source | undefined;

  /** Does not open the source; the first poll does. */
  constructor(config: SourceConfig, parts: Parts) {
    this.#config = config;
    this.#parts = parts;
    this.#loops = new Loops(parts);
  }

  /** Returns when the current access token expires; undefined if there is none. */
  tokenExpiresAt(): Date | undefined {
    return this.#source?.tokenExpiresAt();
  }

  /** Polls on schedule once `after` has resolved, because the previous unit of the same source must have stopped polling first. */
  startPolling(after: Promise<unknown> = Promise.resolve()): void {
    const { name, poll: schedule } = this.#config;
    const { random } = this.#parts;
    const { retiring } = this.#loops;
    this.#loops.startWhileHeld(`poll:${name}`, `polling ${name}`, async (signal) => {
      await after;
      if (signal.aborted || retiring.aborted) return;
      const parts = { ...this.#pollParts(), schedule, random, request: this.#request };
      await pollLoop({ ...parts, retired: retiring }, signal);
    });
  }

  /** Polls now instead of at the next scheduled time. Returns false if a poll is in progress. */
  pollNow(): boolean {
    return this.#request.pollNow();
  }

  /** Polls once. Returns the failure, if any. */
  pollOnce(signal: AbortSignal): Promise<PollFailure | undefined> {
    return poll(this.#pollParts(), signal);
  }

  /** Starts no further poll. Resolves when the poll in progress has ended and the source is closed. */
  async retire(): Promise<void> {
    this.#loops.retire();
    await this.#loops.ended();
    await this.#source?.close();
  }

  /** Aborts the poll in progress; a token renewal gets `graceMs` to finish. Resolves when both have ended. */
  async stop(graceMs: number): Promise<void> {
    this.#loops.stop();
    await this.#loops.ended();
    await this.#source?.close(graceMs);
  }

  #pollParts(): PollParts {
    const { ledger, clock, random, wakes, current, telemetry } = this.#parts;
    const { dataDir, tokenKey } = current.config;
    const { emit } = telemetry;
    this.#source ??= openSource(this.#config.name, this.#config.options, {
      clock,
      random,
      emit,
      dataDir,
      tokenKey,
    });
    return {
      source: this.#source,
      ledger,
      clock,
      emit,
      onOwed: () => wakes.notifyAll(),
      rejections: this.#rejections,
    };
  }
}

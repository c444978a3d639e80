import type { SourceConfig } from '../../config/contract/config.ts';
import type { Source } from '../../source/contract/source.ts';
import { openSource } from '../../source/http-source.ts';
import { Loops } from '../joints/loops.ts';
import { type PollFailure, type PollParts, poll } from '../joints/poll.ts';
import { pollLoop } from '../joints/poll-loop.ts';
import type { Parts } from '../start/compose.ts';

/** One source at work, as one configuration has it. */
export class SourceUnit {
  readonly #config: SourceConfig;
  readonly #parts: Parts;
  readonly #loops: Loops;
  readonly #retired = new AbortController();
  #source: Source | undefined;

  /** Opens nothing. */
  constructor(config: SourceConfig, parts: Parts) {
    this.#config = config;
    this.#parts = parts;
    this.#loops = new Loops(parts.clock, parts.telemetry);
  }

  tokenExpiresAt(): Date | undefined {
    return this.#source?.tokenExpiresAt();
  }

  /** Polls on schedule, once `after` has resolved: another that read the same source has to have ended. */
  startPolling(after: Promise<unknown> = Promise.resolve()): void {
    const { name, poll: schedule } = this.#config;
    const { random } = this.#parts;
    this.#loops.start(`polling ${name}`, async (signal) => {
      await after;
      if (signal.aborted || this.#retired.signal.aborted) return;
      await pollLoop({ ...this.#pollParts(), schedule, random, retired: this.#retired.signal }, signal);
    });
  }

  /** Polls once. Gives the failure, if it failed. */
  pollOnce(signal: AbortSignal): Promise<PollFailure | undefined> {
    return poll(this.#pollParts(), signal);
  }

  /** Begins no further poll. Resolves when the one under way has ended, and the source is closed. */
  async retire(): Promise<void> {
    this.#retired.abort();
    await this.#loops.ended();
    await this.#source?.close();
  }

  /** Cuts the poll under way off, but for a token that is being renewed: that gets `graceMs`. Resolves when it has ended. */
  async stop(graceMs: number): Promise<void> {
    this.#loops.stop();
    this.#retired.abort();
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
    return { source: this.#source, ledger, clock, emit, onOwed: () => wakes.notifyAll() };
  }
}

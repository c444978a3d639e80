import type { SourceConfig } from '../../config/contract/config.ts';
import type { DutyWork, HeldDuty } from '../../ledger/contract/machines.ts';
import type { Source } from '../../source/contract/source.ts';
import { openSource } from '../../source/http-source.ts';
import { onceHeld } from '../duties/once-held.ts';
import { type PolledOnce, type PollFailure, type PollParts, poll } from '../joints/poll.ts';
import { pollLoop } from '../joints/poll-loop.ts';
import { PollRequest } from '../joints/poll-request.ts';
import { ReportedRejections } from '../joints/reported-rejections.ts';
import { type DutyLoop, Loops } from '../joints/restarting-loops.ts';
import type { Parts } from '../start/parts.ts';

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
    const polling: DutyLoop = async (signal, held) => {
      await after;
      if (signal.aborted || retiring.aborted) return;
      const preferOthers = () => held.preferOthers();
      const parts = { ...this.#pollParts(held), schedule, random, preferOthers, request: this.#request };
      await pollLoop({ ...parts, retired: AbortSignal.any([retiring, held.retiring]) }, signal);
    };
    this.#loops.startWhileHeld(`poll:${name}`, `polling ${name}`, polling, 'when-quiet');
  }

  /** Polls now instead of at the next scheduled time. Returns false if a poll is in progress. */
  pollNow(): boolean {
    return this.#request.pollNow();
  }

  /** Polls once, unless another process polls the source. Returns the failure, if any, or that process. */
  async pollOnce(signal: AbortSignal): Promise<PolledOnce> {
    let failure: PollFailure | undefined;
    const work: DutyWork = async (held, lost) => {
      const failed = await poll(this.#pollParts(held), AbortSignal.any([signal, lost]));
      failure = lost.aborted ? undefined : failed;
    };
    const elsewhere = await onceHeld(`poll:${this.#config.name}`, work, this.#parts, signal);
    return { source: this.#config.name, failure, elsewhere };
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

  #pollParts(held?: HeldDuty): PollParts {
    const { ledger, clock, random, wakes, current, telemetry, stores } = this.#parts;
    const { tokenKey } = current.config;
    const { emit } = telemetry;
    this.#source ??= openSource(this.#config.name, this.#config.options, {
      clock,
      random,
      emit,
      tokens: stores.tokens,
      tokenKey,
    });
    return {
      source: this.#source,
      ledger,
      clock,
      emit,
      onOwed: () => wakes.notifyAll(),
      rejections: this.#rejections,
      duty: held?.token,
    };
  }
}

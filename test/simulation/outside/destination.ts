import type { Batch, Delivery } from '../../../src/leads/delivery.ts';
import type { Outcome, Refused, Unavailable } from '../../../src/leads/outcome.ts';
import type { Clock } from '../../../src/platform/time/clock.ts';
import { type AttemptUnderWay, type Sink, WITHOUT_LEASE } from '../../../src/sinks/sink.ts';
import { SinkUnavailable } from '../../../src/sinks/sink-unavailable.ts';
import type { Chance } from '../chance.ts';
import type { Witness } from '../judging/witness.ts';
import type { Life } from '../life.ts';

/** How a destination answers. */
export type DestinationManner =
  | 'fine'
  /** Answers 503 to everything. */
  | 'down'
  /** Answers 503 and asks for a wait of 90 s. */
  | 'limited'
  /** Answers 410: the sink is paused until an operator resumes it. */
  | 'gone'
  /** Answers 422 to everything. */
  | 'refusing'
  /** Does not answer until the request is aborted. */
  | 'hanging'
  /** Does not answer even then. */
  | 'deaf'
  /** Accepts what it gets, and breaks the connection before it answers. */
  | 'forgetful'
  /** Alternates between success and failure. */
  | 'flapping'
  /** Fails a tenth, a fifth or three tenths of its requests at random, each in one of three ways. */
  | 'flaky-10'
  | 'flaky-20'
  | 'flaky-30'
  /** Fails a third of its requests at random and asks for a wait of one second each time. */
  | 'asking'
  /** Accepts a part of a batch, then breaks the connection. */
  | 'half'
  /** Accepts the batch, and answers in an unexpected way. */
  | 'broken'
  /** Takes almost as long as permitted. */
  | 'slow';

const REFUSED: Refused = { kind: 'refused', reason: 'It says no.', httpStatus: 422 };
const DOWN: Unavailable = { kind: 'unavailable', reason: 'It is down.', httpStatus: 503 };
const never = new Promise<never>(() => undefined);

/** Maximum duration of an attempt, in ms. */
export const BUDGET_MS = 20_000;

/** A destination of leads, behind a network with latency. */
export class Destination {
  readonly #clock: Clock;
  readonly #chance: Chance;
  readonly #witness: Witness;
  /** Leads that it refuses or fails on, whatever its manner. */
  readonly #disliked = new Map<bigint, Outcome>();
  manner: DestinationManner = 'fine';

  constructor(clock: Clock, chance: Chance, witness: Witness) {
    this.#clock = clock;
    this.#chance = chance;
    this.#witness = witness;
  }

  /** Makes it refuse this lead, or fail on it, from now on. */
  dislike(lead: number, how: 'refuses' | 'breaks'): void {
    this.#disliked.set(BigInt(lead), how === 'refuses' ? REFUSED : DOWN);
  }

  /** Makes it accept this lead again. */
  like(lead: number): void {
    this.#disliked.delete(BigInt(lead));
  }

  /** Stops it failing on leads; it keeps refusing what it refuses. */
  heal(): void {
    this.manner = 'fine';
    for (const [lead, how] of this.#disliked) if (how === DOWN) this.#disliked.delete(lead);
  }

  sinkOf(life: Life): Sink {
    return {
      check: async () => undefined,
      // Checks the lease and sends in one step: the process may freeze before, but not in between.
      deliver: (batch, signal, under = WITHOUT_LEASE) =>
        life.act(() => this.#send(batch, signal, under), 'attempt'),
      test: async () => ({ arrived: true, what: '' }),
      preview: () => [],
      close: async () => undefined,
    };
  }

  async #send(
    batch: Batch,
    signal: AbortSignal,
    { confirmLease }: AttemptUnderWay,
  ): Promise<readonly Outcome[]> {
    confirmLease();
    this.#witness.sent(batch);
    return await this.#receive(batch, signal);
  }

  async #receive(batch: Batch, signal: AbortSignal): Promise<readonly Outcome[]> {
    await this.#travel(batch, signal);
    const manner = this.#mannerNow();
    switch (manner) {
      case 'down':
        throw new SinkUnavailable('It is down.', { hint: '', httpStatus: 503 });
      case 'limited':
        throw new SinkUnavailable('Not now.', { hint: '', httpStatus: 503, retryAfterMs: 90_000 });
      case 'asking':
        if (this.#chance.below(3) > 0) return await this.#take(batch, signal, 'fine');
        throw new SinkUnavailable('Not now.', { hint: '', httpStatus: 429, retryAfterMs: 1_000 });
      case 'gone':
        throw new SinkUnavailable('It is gone.', { hint: '', httpStatus: 410, gone: true });
      case 'refusing':
        return batch.deliveries.map(() => REFUSED);
      case 'hanging':
        return await until(signal);
      case 'deaf':
        return await never;
      default:
        return await this.#take(batch, signal, manner);
    }
  }

  #mannerNow(): DestinationManner {
    if (this.manner === 'flapping') return this.#chance.oneIn(2) ? 'fine' : 'down';
    const tenths = Number(/^flaky-(\d)0$/.exec(this.manner)?.[1] ?? 0);
    if (tenths === 0) return this.manner;
    if (this.#chance.below(10) >= tenths) return 'fine';
    return (['down', 'forgetful', 'hanging'] as const)[this.#chance.below(3)] as DestinationManner;
  }

  async #take(batch: Batch, signal: AbortSignal, manner: DestinationManner): Promise<readonly Outcome[]> {
    const taken =
      manner === 'half' ? this.#chance.below(batch.deliveries.length + 1) : batch.deliveries.length;
    const outcomes = batch.deliveries.map((delivery, index) =>
      index < taken ? this.#takeOne(batch, delivery) : DOWN,
    );
    await this.#travel(batch, signal);
    if (manner === 'slow') await this.#clock.sleep(BUDGET_MS - 2_000, signal);
    if (signal.aborted) this.#witness.excuse(batch, 'it was cut off');
    if (manner === 'forgetful') {
      this.#witness.excuse(batch, 'the destination did not say that it took it');
      throw new SinkUnavailable('The connection was reset.', { hint: '' });
    }
    if (manner === 'broken') {
      this.#witness.excuse(batch, 'the destination did not say that it took it');
      if (this.#chance.oneIn(2)) throw new TypeError('nobody thought of this');
      return outcomes.slice(1);
    }
    return outcomes;
  }

  #takeOne(batch: Batch, delivery: Delivery): Outcome {
    const disliked = this.#disliked.get(delivery.leadId);
    if (disliked) return disliked;
    this.#witness.arrived(batch, delivery);
    return { kind: 'delivered' };
  }

  /** Travels one way over the network. An aborted request may have arrived or not. */
  async #travel(batch: Batch, signal: AbortSignal): Promise<void> {
    await this.#clock.sleep(
      this.#chance.oneIn(10) ? this.#chance.below(3_000) : this.#chance.below(50),
      signal,
    );
    if (!signal.aborted) return;
    this.#witness.excuse(batch, 'it was cut off');
    if (this.#chance.oneIn(2)) throw new SinkUnavailable('It was cut off.', { hint: '' });
  }
}

function until(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const cut = () => reject(new SinkUnavailable('It was cut off.', { hint: '' }));
    if (signal.aborted) cut();
    else signal.addEventListener('abort', cut, { once: true });
  });
}

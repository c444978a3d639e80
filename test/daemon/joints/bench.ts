import { join } from 'node:path';
import Database from 'better-sqlite3';
import { onTestFinished } from 'vitest';
import type { SignsOfLife } from '../../../src/daemon/duties/signs-of-life.ts';
import { BatchThrottle, type Rate } from '../../../src/daemon/joints/batch-throttle.ts';
import { deliverBatch } from '../../../src/daemon/joints/deliver.ts';
import { dispatch } from '../../../src/daemon/joints/dispatch.ts';
import { Wake } from '../../../src/daemon/joints/wake.ts';
import { InProcessCarrier } from '../../../src/delivery/in-process-carrier.ts';
import { judgeBy } from '../../../src/delivery/judge.ts';
import type { Ledger } from '../../../src/ledger/contract/ledger.ts';
import { openLedger } from '../../../src/ledger/sqlite-ledger.ts';
import { CompiledMappings } from '../../../src/mapping/compiled-mappings.ts';
import type { OpenSink } from '../../../src/operations/opening/open-sinks.ts';
import { tempDir } from '../../support/files/temp-dir.ts';
import { aListedLead } from '../../support/scene/a-lead.ts';
import { sinkChoice } from '../../support/scene/sink-choice.ts';
import { HeldClock, rest } from '../../support/time/held-clock.ts';
import { Reported, ScriptedSink } from './fakes.ts';

export const SECOND = 1_000;
export const MINUTE = 60 * SECOND;
export const HOUR = 60 * MINUTE;

export interface BenchOptions {
  readonly scheduleMs?: readonly number[];
  readonly max?: number;
  readonly waitMs?: number;
  readonly concurrency?: number;
  readonly rate?: Rate;
  /** What happened to the ledger before dispatch starts; its sink is declared. */
  readonly before?: (ledger: Ledger) => Promise<void>;
  /** What one attempt may take. */
  readonly budgetMs?: number;
  /** Whether other processes can see that this one is alive; absent: always. */
  readonly life?: Pick<SignsOfLife, 'isAlive' | 'isAliveSince'>;
}

/** Ledger, dispatch, the carrier of this process and deliver, wired as the daemon wires them, on a clock that is held. */
export class Bench {
  readonly clock = new HeldClock();
  readonly reported = new Reported();
  readonly sink = new ScriptedSink();
  readonly ledger: Ledger;
  readonly carrier: InProcessCarrier;
  readonly wake = new Wake(this.clock);
  /** How often the ledger was asked for what is due. */
  claims = 0;
  /** Fields of every lead that is listed. */
  leadFields: Record<string, unknown> = {};
  readonly #stop = new AbortController();
  readonly #loop: Promise<void>;
  #connection: Database.Database | undefined;
  #listed = new Set<number>();

  private constructor(options: BenchOptions) {
    const {
      scheduleMs = [5 * SECOND, 5 * MINUTE],
      max = 1,
      waitMs = 0,
      concurrency = 2,
      budgetMs = 20 * SECOND,
    } = options;
    const { clock } = this;
    const judge = judgeBy(
      () => ({ scheduleMs, jitter: 0 }),
      () => 0.5,
    );
    const connect = (file: string) => {
      this.#connection = new Database(file);
      return this.#connection;
    };
    const file = join(tempDir(), 'ledger.db');
    this.ledger = openLedger({
      file,
      create: true,
      clock,
      random: Math.random,
      judge,
      holder: 'bench',
      connect,
    });
    const sinks = new Map<string, OpenSink>([['crm', { sink: this.sink, budgetMs }]]);
    const attempt = deliverBatch({
      ledger: this.ledger,
      sinks: sinkChoice(sinks),
      mappings: new CompiledMappings(() => undefined),
      clock,
      emit: this.reported.emit,
      life: options.life,
      onSettled: () => this.wake.notify(),
    });
    this.carrier = new InProcessCarrier(attempt, clock);
    const counted = new Proxy(this.ledger, {
      get: (ledger, key) => {
        if (key === 'claim') this.claims += 1;
        const value = ledger[key as keyof Ledger];
        return typeof value === 'function' ? value.bind(ledger) : value;
      },
    });
    this.#loop = this.ledger
      .declareSinks([{ name: 'crm', events: ['created'], backfill: true }])
      .then(() => options.before?.(this.ledger))
      .then(() =>
        dispatch(
          'crm',
          () => ({ window: concurrency, max, waitMs, leaseMs: MINUTE }),
          {
            ledger: counted,
            carrier: this.carrier,
            clock,
            emit: this.reported.emit,
            wake: this.wake,
            throttle: options.rate && new BatchThrottle(options.rate, clock),
            isAlive: options.life && (() => options.life?.isAlive() === true),
          },
          this.#stop.signal,
        ),
      );
  }

  static async open(options: BenchOptions = {}): Promise<Bench> {
    const bench = new Bench(options);
    onTestFinished(async () => {
      await bench.stop(0);
      await bench.ledger.close();
    });
    await rest();
    return bench;
  }

  /** Lists these leads beside those that were listed before. */
  async list(...ids: number[]): Promise<void> {
    for (const id of ids) this.#listed.add(id);
    const poll = await this.ledger.startPoll('main');
    await this.ledger.record(
      poll,
      [...this.#listed].map((id) => aListedLead({ id, ...this.leadFields })),
    );
    await this.ledger.finishPoll(poll, { status: 'success', bytes: 1, httpStatus: 200, mark: undefined });
    this.wake.notify();
    await rest();
  }

  /** Lets the ledger's file grow no more. */
  fillDisk(): void {
    const pages = this.#connection?.pragma('page_count', { simple: true });
    this.#connection?.pragma(`max_page_count = ${pages}`);
  }

  makeRoom(): void {
    this.#connection?.pragma('max_page_count = 1000000');
  }

  async states(): Promise<string[]> {
    const rows = await this.ledger.deliveries({}, { limit: 1000 });
    return rows.toReversed().map((row) => row.state);
  }

  async health() {
    return (await this.ledger.status()).sinks[0]?.health;
  }

  /** Stops as the daemon does; the clock runs while it does. */
  async stop(graceMs: number): Promise<void> {
    this.#stop.abort();
    let stopped = false;
    const work = Promise.all([this.carrier.close(graceMs), this.#loop]).then(() => {
      stopped = true;
    });
    for (let second = 0; !stopped && second < 120; second += 1) await this.clock.pass(SECOND);
    await work;
  }
}

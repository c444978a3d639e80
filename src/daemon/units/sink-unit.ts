import type { Config, SinkConfig } from '../../config/contract/config.ts';
import type { MappedColumn } from '../../leads/mapped-fields.ts';
import { isMirrored } from '../../ledger/contract/mirrored-ledger.ts';
import { columnsOfDefinition } from '../../mapping/map-delivery.ts';
import type { OpenSink } from '../../operations/opening/open-sinks.ts';
import type { Mirror } from '../../sinks/mirror.ts';
import { backfill } from '../joints/backfill.ts';
import { attemptLeaseMs } from '../joints/deliver.ts';
import { dispatch } from '../joints/dispatch.ts';
import { type MirrorParts, mirrorLedger, mirrorOnce } from '../joints/mirror-ledger.ts';
import { claimLimits } from '../joints/open-carrier.ts';
import { type Loop, Loops } from '../joints/restarting-loops.ts';
import { watchWorkers } from '../joints/watch-workers.ts';
import type { Parts } from '../start/parts.ts';

/** A sink's mirror, and what copying to it needs. */
interface Mirroring {
  readonly mirror: Mirror;
  readonly parts: MirrorParts;
}

/** One running sink under one configuration. */
export class SinkUnit {
  /** Resolves when the backfill has finished and all earlier leads are owed or skipped. */
  readonly owed: Promise<void>;
  readonly #name: string;
  readonly #parts: Parts;
  readonly #loops: Loops;
  readonly #mirroring: Mirroring | undefined;

  /** Opens the sink and starts its loops. A worker starts neither dispatch nor backfill. */
  constructor(config: Config, sink: SinkConfig, parts: Parts) {
    this.#name = sink.name;
    this.#parts = parts;
    this.#loops = new Loops(parts);
    const open = parts.openSinks.open(sink);
    if (parts.delivers) this.#check(open, columnsOfDefinition(sink.mapping, config.clientKey));
    this.owed = parts.role.kind === 'worker' ? Promise.resolve() : this.#startDispatch(config, sink, open);
    this.#mirroring = this.#mirroringTo(open.sink.mirror);
    if (parts.role.kind === 'run') this.#startMirror();
    this.#loops.start(`watching the worker of ${sink.name}`, (signal) =>
      watchWorkers(sink.name, this.#jointParts(), signal),
    );
  }

  /** Stops claiming. Resolves when the loops have ended; attempts continue. */
  async stop(): Promise<void> {
    this.#loops.stop();
    await this.#loops.ended();
  }

  /** Stops, and closes the sink when its last attempt has ended. */
  async retire(): Promise<void> {
    await this.stop();
    await this.#parts.openSinks.retire(this.#name);
  }

  #startDispatch(config: Config, sink: SinkConfig, open: OpenSink): Promise<void> {
    const { name, batch, rate } = sink;
    const { role, wakes, openSinks, shared } = this.#parts;
    const throttle = this.#parts.throttles.of(name, rate);
    const parts = {
      ...this.#jointParts(),
      wake: wakes.open(name),
      throttle,
      isAlive: shared && (() => shared.duties.life.isAlive()),
    };
    const waitMs = role.kind === 'sync' ? 0 : batch.waitMs;
    const request = { max: batch.max, waitMs, ...claimLimits(config, sink, attemptLeaseMs(open)) };
    // Attempts that hang at the former destination must not use up the window of the current one.
    const requestNow = () => ({ ...request, window: request.window + openSinks.retiring(name) });
    const run: Loop = (signal) => dispatch(name, requestNow, parts, signal);
    if (this.#claimsForItself(sink)) this.#loops.start(`dispatching to ${name}`, run);
    else this.#loops.startWhileHeld(`dispatch:${name}`, `dispatching to ${name}`, run);
    return this.#loops.startWhileHeld(`backfill:${name}`, `backfilling ${name}`, (signal) =>
      backfill(name, parts, signal),
    );
  }

  /** Whether each process on a shared ledger claims what it attempts. A rate counts for all processes together, so one of them claims. */
  #claimsForItself({ rate }: SinkConfig): boolean {
    return (
      this.#parts.shared !== undefined && this.#parts.carrier.kind === 'in-process' && rate === undefined
    );
  }

  /** Updates the sink's mirror once, if it has one. */
  async mirrorOnce(signal: AbortSignal): Promise<void> {
    if (this.#mirroring) await mirrorOnce(this.#mirroring.mirror, this.#mirroring.parts, signal);
  }

  #mirroringTo(mirror: Mirror | undefined): Mirroring | undefined {
    const { ledger, clock, telemetry, role } = this.#parts;
    if (!mirror || !isMirrored(ledger)) return undefined;
    // A sync updates its mirrors after it has waited for the deliveries, so the mirrors need not give way to anything.
    const isBackground = role.kind !== 'sync';
    return { mirror, parts: { sink: this.#name, ledger, clock, emit: telemetry.emit, isBackground } };
  }

  #startMirror(): void {
    if (!this.#mirroring) return;
    const { mirror, parts } = this.#mirroring;
    this.#loops.startWhileHeld(`mirror:${this.#name}`, `mirroring the ledger to ${this.#name}`, (signal) =>
      mirrorLedger(mirror, parts, signal),
    );
  }

  /** Checks the destination now and reports problems before the first lead. Deliveries do not wait for this check. */
  #check({ sink }: OpenSink, columns: readonly MappedColumn[] | undefined): void {
    const { signal } = this.#loops;
    sink.check(signal, columns).catch((error: { message: string; hint?: string }) => {
      if (signal.aborted) return;
      const { message: reason, hint = '' } = error;
      this.#parts.telemetry.emit({ type: 'check-failed', sink: this.#name, reason, hint });
    });
  }

  /** Returns the parts that the joints between ledger and carrier share. */
  #jointParts() {
    const { ledger, carrier, clock, telemetry } = this.#parts;
    return { ledger, carrier, clock, emit: telemetry.emit };
  }
}

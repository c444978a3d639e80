import { type ChangedOption, changedOptions } from '../../config/changes/changed-options.ts';
import {
  type ConfigChanges,
  compareConfigs,
  describeSink,
  describeSource,
  placeOf,
  withoutRestart,
} from '../../config/changes/compare-configs.ts';
import { describeChanges } from '../../config/changes/describe-changes.ts';
import type { Config } from '../../config/contract/config.ts';
import { textOf } from '../../mapping/mapping-definition.ts';
import { describePlan } from '../../operations/planning/describe-plan.ts';
import { planOf } from '../../operations/planning/plan.ts';
import { lastExports } from '../../operations/scheduled-exports.ts';
import type { PolledOnce } from '../joints/poll.ts';
import { namesOf } from '../start/compose.ts';
import { enabledSinks, type Parts } from '../start/parts.ts';
import { SinkUnit } from './sink-unit.ts';
import { SourceUnit } from './source-unit.ts';

/** Returns the names of the enabled sinks whose folder is only on this machine. */
function foldersOf(config: Config): readonly string[] {
  return enabledSinks(config)
    .filter(({ type, options }) => type.place?.includes('directory') && options['directory'] !== undefined)
    .filter(({ options }) => options['shared'] !== true)
    .map(({ name }) => name);
}

/** The running sinks and sources of the current configuration. */
export class RunningUnits {
  readonly #parts: Parts;
  readonly #sinks = new Map<string, SinkUnit>();
  readonly #sources: Map<string, SourceUnit>;
  /** Sinks and sources of earlier configurations that are still closing. */
  readonly #retiring = new Set<Promise<void>>();
  readonly #retiringSources = new Set<SourceUnit>();
  /** By source name: resolves when the unit that polled the source under an earlier configuration has ended. */
  readonly #ended = new Map<string, Promise<void>>();
  #stopped = false;
  /** The configuration that was declared last, and when that has ended. */
  #declared: Config;
  #declaring: Promise<void> = Promise.resolve();

  /** Keeps `sources` up to date with the running sources. */
  constructor(parts: Parts, sources: Map<string, SourceUnit>) {
    this.#parts = parts;
    this.#sources = sources;
    this.#declared = parts.current.config;
  }

  /**
   * Declares the configured sources and the enabled sinks to the ledger: those of `config`, or again those that were declared last. Does nothing in a
   * worker. @throws LedgerError
   */
  declare(config?: Config): Promise<void> {
    const declaring = this.#declaring.then(() => this.#declareShown(config ?? this.#declared));
    this.#declaring = declaring.catch(() => undefined);
    return declaring;
  }

  /** Declares a configuration while the other processes of the ledger can see that this one has its sinks: they would retire them otherwise. */
  async #declareShown(config: Config): Promise<void> {
    const { role, shared } = this.#parts;
    const dispatches = role.kind !== 'worker';
    const show = async (...configs: readonly Config[]) => {
      const sinks = configs.flatMap((one) => (dispatches ? enabledSinks(one).map(({ name }) => name) : []));
      await shared?.showSinks({ sinks: [...new Set(sinks)], folders: configs.flatMap(foldersOf) });
    };
    await show(this.#declared, config);
    try {
      await shared?.requireAlone(foldersOf(config));
      if (dispatches) await this.#declare(config);
      this.#declared = config;
    } finally {
      await show(this.#declared);
    }
  }

  async #declare(config: Config): Promise<void> {
    const { ledger } = this.#parts;
    // Sinks first, because the ledger may refuse a sink's new name.
    await ledger.declareSinks(
      enabledSinks(config).map((sink) => {
        const { name, events, backfill, formerly } = sink;
        const mapping = sink.mapping && textOf(sink.mapping);
        return {
          name,
          events,
          backfill,
          formerly,
          mapping,
          config: describeSink(sink),
          place: placeOf(sink),
        };
      }),
    );
    await ledger.declareSources(
      config.sources.map((source) => ({ name: source.name, config: describeSource(source) })),
    );
  }

  /**
   * Returns the changes that a configuration would make: one sentence for each source, sink and export that it affects. `exact` is a comparison with
   * the configuration in force; without `exact`, the sentences do not show changed secrets.
   */
  async plan(config: Config, exact?: ConfigChanges): Promise<readonly string[]> {
    // The last declaration comes from the `run` process that this worker serves, so comparing with it would show no change.
    if (this.#parts.role.kind === 'worker') return exact ? describeChanges(exact) : [];
    const { ledger, exportStates } = this.#parts;
    const last = { ...(await ledger.lastDeclaration()), exports: await lastExports(exportStates) };
    return describePlan(planOf(last, config, exact));
  }

  /** Returns every option that a configuration would change, with its old and new value. */
  changedOptions(next: Config): readonly ChangedOption[] {
    return changedOptions(this.#parts.current.config, next);
  }

  /** Returns the changes that `apply` would return for sources, sinks, exports and backups. */
  planned(next: Config): Promise<readonly string[]> {
    const { config } = this.#parts.current;
    return this.plan(withoutRestart(config, next), compareConfigs(config, next));
  }

  /** Starts the sinks and sources of the current configuration. */
  async start(): Promise<void> {
    const { current, carrier, role } = this.#parts;
    await this.#parts.openSinks.load(current.config.sinks);
    await carrier.serve(enabledSinks(current.config));
    this.#startSinks();
    if (role.kind === 'worker') return;
    for (const source of current.config.sources) {
      const unit = new SourceUnit(source, this.#parts);
      this.#sources.set(source.name, unit);
      if (role.kind === 'run') unit.startPolling();
    }
  }

  /**
   * Applies the changes that need no restart. Polls and attempts in progress finish under the old configuration. Returns the changes.
   * @throws LedgerError if the ledger cannot record the change: the old configuration then stays in force
   */
  async apply(
    next: Config,
  ): Promise<{ readonly changes: readonly string[]; readonly restart: readonly string[] }> {
    const { current, carrier, telemetry } = this.#parts;
    const changes = compareConfigs(current.config, next);
    const config = withoutRestart(current.config, next);
    const plan = await this.plan(config, changes);
    // If another version has replaced the program on disk, this fails before anything has changed.
    await this.#parts.openSinks.load(config.sinks);
    await this.declare(config);
    current.config = config;
    telemetry.rename(namesOf(config, this.#parts.role));
    telemetry.logger.setLevel(config.log.level);
    const altered = changes.sinks.altered.map(({ name }) => name);
    await this.#endSinks([...changes.sinks.removed, ...altered]);
    await carrier.serve(enabledSinks(config), altered);
    this.#startSinks();
    if (this.#parts.role.kind === 'run' && !this.#stopped) this.#replaceSources(changes);
    return { changes: [...plan, ...changes.live], restart: changes.restart };
  }

  /** Polls all sources once, concurrently. */
  pollOnce(signal: AbortSignal): Promise<readonly PolledOnce[]> {
    return Promise.all([...this.#sources.values()].map((source) => source.pollOnce(signal)));
  }

  /**
   * Polls a source now instead of at its next scheduled time, or tells the process that polls it. Returns false if a poll is in progress in this
   * process; undefined if no source has the name.
   */
  pollNow(source: string): boolean | undefined {
    const unit = this.#sources.get(source);
    const { shared } = this.#parts;
    if (!unit || !shared || shared.duties.holds(`poll:${source}`)) return unit?.pollNow();
    void shared.machines.tell({ kind: 'poll', source });
    return true;
  }

  /** Polls a source now if this process is the one that polls it, because another process was asked to. */
  pollIfHeld(source: string): void {
    if (this.#parts.shared?.duties.holds(`poll:${source}`)) this.#sources.get(source)?.pollNow();
  }

  /** Updates every mirror once. */
  async mirrorOnce(signal: AbortSignal): Promise<void> {
    await Promise.all([...this.#sinks.values()].map((unit) => unit.mirrorOnce(signal)));
  }

  /** Resolves when the backfill of every sink has finished. */
  async owed(): Promise<void> {
    await Promise.all([...this.#sinks.values()].map((unit) => unit.owed));
  }

  /** Aborts polls, except for a token renewal in progress, and stops claiming. Resolves when only attempts are still in progress. */
  async stop(graceMs: number): Promise<void> {
    this.#stopped = true;
    const sources = [...this.#sources.values(), ...this.#retiringSources];
    const ending = sources.map((unit) => unit.stop(graceMs));
    await Promise.all([...ending, ...[...this.#sinks.values()].map((unit) => unit.stop())]);
  }

  /** Resolves when the sinks and sources of earlier configurations have closed, including their attempts. */
  async retired(): Promise<void> {
    await Promise.allSettled(this.#retiring);
  }

  #startSinks(): void {
    if (this.#stopped) return; // leadsync was stopped during a reload
    const { config } = this.#parts.current;
    for (const sink of enabledSinks(config))
      if (!this.#sinks.has(sink.name)) this.#sinks.set(sink.name, new SinkUnit(config, sink, this.#parts));
  }

  async #endSinks(names: readonly string[]): Promise<void> {
    const units = names.flatMap((name) => this.#sinks.get(name) ?? []);
    await Promise.all(units.map((unit) => unit.stop()));
    for (const name of names) {
      this.#sinks.delete(name);
      this.#trackRetirement(this.#parts.openSinks.retire(name));
    }
  }

  #replaceSources({ sources: { added, removed, altered } }: ConfigChanges): void {
    for (const name of [...removed, ...altered.map((one) => one.name)]) {
      const unit = this.#sources.get(name);
      if (!unit) continue;
      this.#sources.delete(name);
      this.#retiringSources.add(unit);
      const retired = unit.retire().finally(() => this.#retiringSources.delete(unit));
      this.#ended.set(name, retired);
      this.#trackRetirement(retired);
    }
    const begin = new Set([...added, ...altered.map((one) => one.name)]);
    for (const source of this.#parts.current.config.sources) {
      if (!begin.has(source.name)) continue;
      const unit = new SourceUnit(source, this.#parts);
      this.#sources.set(source.name, unit);
      unit.startPolling(this.#ended.get(source.name));
    }
  }

  #trackRetirement(ending: Promise<void>): void {
    this.#retiring.add(ending);
    void ending
      .catch((error: unknown) =>
        this.#parts.telemetry.logger.fault('closing a sink or source that a reload replaced', error),
      )
      .then(() => this.#retiring.delete(ending));
  }
}

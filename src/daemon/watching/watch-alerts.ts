import { Alerts } from '../../alerts/alerts.ts';
import { ArrivalModel } from '../../alerts/arrival-model.ts';
import { filesOf, type SourceConfig } from '../../config/contract/config.ts';
import type { ExportConfig } from '../../exports/contract/options.ts';
import { LedgerError } from '../../ledger/contract/ledger-error.ts';
import type { Vitals } from '../../ledger/contract/status-rows.ts';
import { diskSpace } from '../../operations/disk-space.ts';
import { nextBeat } from '../../platform/time/aligned-sleep.ts';
import { type FileRuns, runsOf } from '../../status/export-view.ts';
import { readPollError } from '../../status/poll-error.ts';
import { evaluateConditions } from '../../status/problems/alert-conditions.ts';
import type { AlertInputs, ObservedSink, ObservedSource } from '../../status/problems/alert-inputs.ts';
import { namesOf } from '../start/compose.ts';
import { enabledSinks, type Parts } from '../start/parts.ts';
import type { Reloader } from '../units/reloader.ts';
import { OverduePolls } from './overdue-polls.ts';

/** Interval for evaluating the alert conditions, in ms. */
const CHECK_INTERVAL_MS = 15_000;
/** Maximum age of the new leads whose delivery times are measured, in ms. */
const RECENT_MS = 30 * 60_000;
/** Maximum number of rejected leads of a source that are read to find their most frequent fault. */
const MAX_REJECTED = 200;
/** Length of the part of a source's history that the arrival model learns from, in ms. */
const HISTORY_MS = 8 * 7 * 24 * 3_600_000;

/** Arrival history of a source, read from the ledger in parts. */
interface History {
  readonly arrivals: ArrivalModel;
  through: number | undefined;
  lastNewAt: Date | undefined;
  until: Date | undefined;
}

/** The joint between ledger and alerts: evaluates the conditions and passes the results to the alerts, until the signal aborts. */
export async function watchAlerts(
  parts: Parts,
  reloader: Pick<Reloader, 'state'>,
  signal: AbortSignal,
): Promise<void> {
  const { clock, current, telemetry, role, rewriteCommands, alerts: store } = parts;
  const alerts = await Alerts.open({ clock, store, emit: telemetry.emit, rewriteCommands });
  const observer = new Observer(parts);
  try {
    while (!signal.aborted) {
      const { config } = current;
      parts.diskTrend.keep(clock.now(), await diskSpace(config));
      if (Object.keys(config.alerts.to).length > 0) {
        const observed = await observer.observe(reloader.state.stale, signal);
        const judged = evaluateConditions(observed, namesOf(config, role), config.alerts.when);
        const from = { name: config.name, url: config.publicUrl };
        await alerts.take(judged, observed.at, { options: config.alerts, from });
      }
      await nextBeat(clock, CHECK_INTERVAL_MS, signal);
    }
  } finally {
    await alerts.stop();
  }
}

/** Collects the state of sources, sinks, exports and ledger. */
class Observer {
  readonly #parts: Parts;
  readonly #startedAt: Date;
  readonly #overdue = new OverduePolls();
  readonly #histories = new Map<string, History>();

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#startedAt = parts.clock.now();
  }

  /** Returns the current state. If the ledger cannot be read, `sources` and `sinks` are undefined. */
  async observe(stale: AlertInputs['stale'], signal: AbortSignal): Promise<AlertInputs> {
    const { ledger, carrier, clock, current } = this.#parts;
    const at = clock.now();
    const disk = this.#parts.diskTrend.of(at, await diskSpace(current.config));
    const shared = { at, stale, disk, carrier: carrier.unready(), exports: await this.#exports(at) };
    try {
      const vitals = await ledger.vitals(new Date(at.getTime() - RECENT_MS));
      for (const { name } of current.config.sources) await this.#learn(name, signal);
      const failing = ledger.failing();
      return {
        ...shared,
        sources: await Promise.all(current.config.sources.map((source) => this.#source(source, vitals, at))),
        sinks: this.#sinks(vitals),
        machines: await this.#machines(),
        ledger: failing && { reason: failing.message, hint: failing.hint },
      };
    } catch (error) {
      if (!(error instanceof LedgerError)) throw error;
      const { message: reason, hint } = error;
      return { ...shared, sources: undefined, sinks: undefined, ledger: { reason, hint } };
    }
  }

  async #machines(): Promise<AlertInputs['machines']> {
    const { shared, ledger, clock } = this.#parts;
    if (!shared) return undefined;
    const { machines, serverNow } = await ledger.status();
    return machines && { status: machines, now: serverNow ?? clock.now() };
  }

  async #source({ name, poll, options }: SourceConfig, vitals: Vitals, at: Date): Promise<ObservedSource> {
    const listing = vitals.sources.find(({ source }) => source === name);
    const lastSuccessAt = listing?.lastSuccessAt;
    return {
      name,
      overdueSince: this.#overdue.since(name, poll, lastSuccessAt ?? this.#startedAt, at),
      lastSuccessAt,
      listing,
      grant: options.grant,
      rejected: listing?.rejected ?? 0,
      rejectedReason: listing?.rejected ? await this.#rejectedReason(name) : undefined,
      failure: await this.#failure(name),
      silence: this.#silence(name),
    };
  }

  /** Returns the failure of a source's last poll. If another process polls the source, the ledger knows it, without the next step. */
  async #failure(source: string): Promise<ObservedSource['failure']> {
    const { shared, pollFailures, ledger } = this.#parts;
    if (!shared || shared.duties.holds(`poll:${source}`)) return pollFailures.of(source);
    const { sources } = await ledger.status();
    const poll = sources.find((one) => one.source === source)?.lastPoll;
    if (poll?.status !== 'failed' && poll?.status !== 'partial') return undefined;
    const { code, reason } = readPollError(poll.error ?? '');
    // Without a code, a stop cut the poll off.
    return code === undefined ? undefined : { code, reason, isPartial: poll.status === 'partial' };
  }

  /** Returns what is wrong with most of the rejected leads of a source, judging by the newest ones. */
  async #rejectedReason(source: string): Promise<ObservedSource['rejectedReason']> {
    const { rows } = await this.#parts.ledger.rejected({ source, state: 'open' }, { limit: MAX_REJECTED });
    const groups = Map.groupBy(rows, ({ path, reason }) => (path === '' ? reason : `${path}: ${reason}`));
    const [most] = [...groups].sort(([, one], [, other]) => other.length - one.length);
    return most && { reason: most[0], leads: most[1].length };
  }

  #silence(name: string): ObservedSource['silence'] {
    const { arrivals, lastNewAt, until } = this.#histories.get(name) ?? {};
    if (!arrivals || !lastNewAt || !until || until <= lastNewAt) return undefined;
    return { since: lastNewAt, until, probability: arrivals.probabilityOfNone(lastNewAt, until) };
  }

  #sinks(vitals: Vitals): ObservedSink[] {
    const { config } = this.#parts.current;
    return enabledSinks(config).flatMap(({ name, batch }) => {
      const known = vitals.sinks.find(({ sink }) => sink === name);
      return known ? [{ ...known, name, batchWaitMs: batch.waitMs, secrets: () => config.secrets }] : [];
    });
  }

  #exports(at: Date): Promise<FileRuns[]> {
    const { current, exportStates } = this.#parts;
    const read = (name: string) => exportStates.read(name).catch(() => undefined); // a ledger that is away has a condition of its own
    const runs = async (one: ExportConfig) => runsOf(one, await read(one.name), at);
    return Promise.all(filesOf(current.config).map(runs));
  }

  /** Reads the polls since the last call, in parts. The first call reads those of the last eight weeks. */
  async #learn(source: string, signal: AbortSignal): Promise<void> {
    const { ledger, clock } = this.#parts;
    const history = this.#histories.get(source) ?? {
      arrivals: new ArrivalModel(),
      through: undefined,
      lastNewAt: undefined,
      until: undefined,
    };
    this.#histories.set(source, history);
    while (!signal.aborted) {
      const from = history.through ?? new Date(clock.now().getTime() - HISTORY_MS);
      const found = await ledger.polledHours(source, from);
      if (found.through === undefined) return;
      history.arrivals.add(found.hours);
      history.through = found.through;
      history.lastNewAt = found.lastNewAt ?? history.lastNewAt;
      history.until = found.until ?? history.until;
      await clock.sleep(1, signal); // lets other work run between two parts
    }
  }
}

import type { Overview } from '../../admin/contract/overview.ts';
import { may } from '../../admin/contract/rights.ts';
import { filesOf } from '../../config/contract/config.ts';
import { isBackup } from '../../exports/contract/options.ts';
import type { StatusCode } from '../../leads/problems.ts';
import type { AskLedger } from '../../ledger/contract/ledger-pages.ts';
import { diskSpace } from '../../operations/disk-space.ts';
import { version } from '../../platform/process/version.ts';
import { activeAlerts } from '../../status/alert-json.ts';
import { deliveryRate, rateRequests } from '../../status/delivery-rate.ts';
import { backupOverview, exportOverview } from '../../status/export-json.ts';
import { viewExports } from '../../status/export-view.ts';
import { findProblems, SINK_ALERTS, SOURCE_ALERTS } from '../../status/problems/find-problems.ts';
import { commandInText, type Problem } from '../../status/problems/problem.ts';
import { attemptsJson } from '../../status/sink-detail.ts';
import {
  machinesJson,
  problemJson,
  sinkOverview,
  sourceOverview,
  speedsJson,
} from '../../status/status-json.ts';
import { viewSinks, viewSources } from '../../status/status-view.ts';
import type { Parts } from '../start/parts.ts';
import type { Reloader } from '../units/reloader.ts';

/** Period for which new leads are counted, in hours. */
const HOURS = 48;
/** Period for which the success rates of sinks are shown, in ms. */
const HOUR_MS = 3_600_000;
/** Period for which the delivery times of leads are measured, in ms. */
const SPEED_MS = 24 * 3_600_000;

/** What the overview is made of, apart from the ledger. */
interface OverviewParts {
  readonly parts: Pick<
    Parts,
    'current' | 'clock' | 'exportStates' | 'alerts' | 'rewriteCommands' | 'pollFailures' | 'diskTrend'
  >;
  /** Returns the reasons why leadsync is not ready; empty if it is. */
  readonly unready: () => Promise<readonly string[]>;
  readonly state: () => Reloader['state'];
}

/**
 * Returns the state of the whole installation, with every problem; their texts name the origins of secrets only to a client that may see the
 * configuration. `query` asks the query thread.
 */
export async function overviewOf(
  { parts, unready, state }: OverviewParts,
  query: AskLedger,
): Promise<Overview> {
  const { clock, current } = parts;
  const { config } = current;
  const status = await query('status');
  const now = status.serverNow ?? clock.now();
  const rates = rateRequests(now);
  const [lastHour, hours, speeds, delivered, deliveredBefore, reasons, disk, exports, alerts] =
    await Promise.all([
      query('attemptTotals', { now, periodMs: HOUR_MS }),
      query('newLeads', now, HOURS),
      query('speed', new Date(now.getTime() - SPEED_MS)),
      query('attemptTotals', rates.now),
      query('attemptTotals', rates.hourAgo),
      unready(),
      diskSpace(config),
      viewExports(filesOf(config), parts.exportStates),
      parts.alerts.read(),
    ]);
  const [sources, sinks] = [viewSources(config, status), viewSinks(config, status)];
  const problems = findProblems(sources, sinks, {
    now,
    running: true,
    answers: true,
    unready: reasons,
    stale: state().stale,
    queued: config.queue.redis !== undefined,
    exports,
    secrets: () => config.secrets,
    namesOrigins: may('configuration'),
    disk: parts.diskTrend.of(clock.now(), disk),
    restoredAt: status.restoredAt,
    alerts: activeAlerts(alerts, config.alerts),
    machines: status.machines,
    command: commandInText,
  });
  return {
    version,
    at: now.toISOString(),
    installation: config.name ?? null,
    healthy: problems.length === 0,
    problems: problems.map((one) => ({
      ...problemJson(one, config.publicUrl),
      message: parts.rewriteCommands(one.message),
      next_step: parts.rewriteCommands(one.nextStep),
      page_step: parts.rewriteCommands(one.pageStep),
    })),
    sources: sources.map((source) =>
      withAlerts(sourceOverview(source, now, parts.pollFailures.of(source.name)?.retryAt), source.name, {
        problems,
        codes: SOURCE_ALERTS,
      }),
    ),
    sinks: sinks.map((sink) =>
      withAlerts(sinkOverview(sink, now), sink.name, { problems, codes: SINK_ALERTS }),
    ),
    exports: exports.filter((one) => !isBackup(one.config)).map(exportOverview),
    backups: exports.filter((one) => isBackup(one.config)).map(backupOverview),
    machines: machinesJson(status),
    leads_per_hour: hours.map(({ hour, leads }) => ({ hour: hour.toISOString(), leads })),
    speed_to_lead: speedsJson(speeds, sinks),
    attempts_last_hour: sinks.map(({ name }) =>
      attemptsJson(
        name,
        lastHour.find(({ sink }) => sink === name),
      ),
    ),
    delivered_per_minute: deliveryRate(now, { now: delivered, hourAgo: deliveredBefore }),
  };
}

/** Adds to the codes of a sink or a source those of the active alerts about it: alerts are found for all of them together. */
function withAlerts<T extends { readonly problems: readonly StatusCode[] }>(
  view: T,
  about: string,
  { problems, codes }: { readonly problems: readonly Problem[]; readonly codes: readonly StatusCode[] },
): T {
  const found = problems.filter((one) => one.about === about && codes.includes(one.code));
  return { ...view, problems: [...view.problems, ...found.map(({ code }) => code)] };
}

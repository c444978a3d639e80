import { actor } from '../../admin/contract/actor.ts';
import type { Configuration } from '../../admin/contract/configuration.ts';
import type { ActionTotals } from '../../admin/contract/deliveries.ts';
import {
  MAX_COUNTED,
  MAX_SERVICES,
  type Operations,
  type PageRequest,
} from '../../admin/contract/operations.ts';
import type { PollFilter } from '../../admin/contract/polls.ts';
import { RequestError } from '../../admin/contract/request-error.ts';
import type { AuditStore } from '../../audit/audit-store.ts';
import type { ActionTotals as LedgerTotals } from '../../ledger/contract/ledger-control.ts';
import { LedgerError } from '../../ledger/contract/ledger-error.ts';
import { type AskLedger, LedgerBusy, type PageReader } from '../../ledger/contract/ledger-pages.ts';
import type { DeliveryRow } from '../../ledger/contract/status-rows.ts';
import { languageReference } from '../../mapping/language-reference.ts';
import { MAX_EXPRESSION } from '../../mapping/mapping-definition.ts';
import type { MappingProcess } from '../../mapping/start-mapping-process.ts';
import { testSink } from '../../operations/test-sink.ts';
import { alertsJson } from '../../status/alert-json.ts';
import { batchWaits } from '../../status/batch-wait.ts';
import { contentJson, deliveryJson, historyJson, leadJson, pollJson } from '../../status/record-json.ts';
import { activityRequest, failureReasonsJson, sinkDetail, sinkRow } from '../../status/sink-detail.ts';
import { allSinks, viewSinks } from '../../status/status-view.ts';
import type { Logger } from '../../telemetry/logger.ts';
import type { Parts } from '../start/parts.ts';
import type { Reloader, ReloadPreview, ReloadResult } from '../units/reloader.ts';
import { auditLines, countAuditLines } from './audit-lines.ts';
import { findLeads } from './find-leads.ts';
import { leadPreviews, tryOnLead } from './lead-previews.ts';
import { choiceOf, filterOf, leadIdOf, searchOf } from './ledger-filters.ts';
import { logLines } from './log-lines.ts';
import { overviewOf } from './overview.ts';
import { reloadPreviewJson } from './reload-preview-json.ts';
import { requireBatch, requireNames } from './require-known.ts';
import { previewExport, runExport } from './run-export.ts';

/**
 * What `operationsOf` works with. `queries` runs in a separate thread and answers the reads; the ledger of `parts` makes the changes, and counts what they
 * would change. `mappings` evaluates expressions in a separate process.
 */
export interface OperationParts {
  readonly parts: Pick<
    Parts,
    | 'ledger'
    | 'current'
    | 'clock'
    | 'role'
    | 'wakes'
    | 'exportStates'
    | 'alerts'
    | 'rewriteCommands'
    | 'pollFailures'
    | 'diskTrend'
  > & { readonly shared?: Parts['shared'] };
  readonly queries: PageReader;
  readonly audit: AuditStore;
  readonly mappings: MappingProcess;
  /** Returns the latest log lines, newest first. */
  readonly recentLines: Logger['recent'];
  /** Returns the reasons why leadsync is not ready; empty if it is. */
  readonly unready: () => Promise<readonly string[]>;
  readonly state: () => Reloader['state'];
  readonly configuration: () => Promise<Configuration>;
  readonly reload: () => Promise<ReloadResult>;
  readonly previewReload: (withPlan: boolean) => Promise<ReloadPreview>;
  /** Polls a source now. Returns false if a poll is in progress; undefined if no source has the name. */
  readonly pollNow: (source: string) => boolean | undefined;
  /** Names of the exports and backups that were requested or run now. */
  readonly exportsUnderway: Set<string>;
}

/** Returns the operations behind the pages and the API of a running leadsync. */
export function operationsOf(context: OperationParts): Operations {
  const { parts, queries, configuration, reload, previewReload, pollNow } = context;
  const { ledger, wakes } = parts;
  const query = withHttpErrors(queries);
  const batchWaitsOf = (rows: readonly DeliveryRow[]) =>
    batchWaits(rows, {
      sinks: parts.current.config.sinks,
      now: parts.clock.now(),
      countDue: (sink, now, most) => query('countDue', sink, now, most),
    });
  return {
    overview: () => overviewOf(context, query),
    leads: async (search, page) => {
      await requireNames(context, query, search);
      const { rows, next } = await query('leads', searchOf(search), requireCursor(page));
      return { rows: rows.map(leadJson), next };
    },
    countLeads: async (search) => {
      await requireNames(context, query, search);
      return query('countLeads', searchOf(search), MAX_COUNTED);
    },
    services: () => query('services', MAX_SERVICES),
    findLeads: async (search, page) => {
      await requireNames(context, query, search);
      return findLeads(search, page, query);
    },
    lead: async (source, lead) => {
      const history = await query('lead', source, leadIdOf(lead));
      return history && historyJson(history, await batchWaitsOf(history.deliveries));
    },
    reveal: async (source, lead, version, delivery) => {
      const content = await query('content', source, leadIdOf(lead), version, delivery);
      return content && { source, lead_id: lead, ...contentJson(content) };
    },
    previews: async (source, lead) => {
      const id = leadIdOf(lead);
      if ((await query('lead', source, id)) === undefined) return undefined;
      const sinks = await leadPreviews({ source, lead: id }, { ...context, query });
      return { source, lead_id: lead, sinks };
    },
    tryExpression: async ({ expression, sink, lead }) => {
      await requireNames(context, query, { source: lead?.source });
      const key = lead && { source: lead.source, lead: leadIdOf(lead.lead) };
      return tryOnLead({ expression, sink, key }, { ...context, query });
    },
    expressionLanguage: async () => ({
      variables: [...languageReference.variables],
      functions: [...languageReference.functions],
      others: [...languageReference.others],
      max_characters: MAX_EXPRESSION,
    }),
    deliveries: async (filter, page) => {
      await requireNames(context, query, filter);
      const { rows, next } = await query('deliveries', filterOf(filter), requireCursor(page));
      if (next === null) await requireBatch(query, filter, rows.length);
      const batchWait = await batchWaitsOf(rows);
      return { rows: rows.map((row) => deliveryJson(row, batchWait)), next };
    },
    countDeliveries: async (filter) => {
      await requireNames(context, query, filter);
      const counted = await query('countDeliveries', filterOf(filter), MAX_COUNTED);
      await requireBatch(query, filter, counted.count);
      return counted;
    },
    failureReasons: async () => failureReasonsJson(await query('failureReasons')),
    sinks: async () => {
      const status = await query('status');
      const now = status.serverNow ?? parts.clock.now();
      const totals = await query('attemptTotals', { now, periodMs: HOUR_MS });
      const { values } = context.state();
      return viewSinks(parts.current.config, status).map((view) =>
        sinkRow(view, { now, total: totals.find(({ sink }) => sink === view.name)?.total, values }),
      );
    },
    sink: async (name, period) => {
      const status = await query('status');
      const now = status.serverNow ?? parts.clock.now();
      const activity = await query('sinkActivity', name, activityRequest(period, now));
      const view = allSinks(parts.current.config, status).find((one) => one.name === name);
      return view && sinkDetail(view, { period, now, activity, values: context.state().values });
    },
    polls: async (filter: PollFilter, page) => {
      await requireNames(context, query, filter);
      const { rows, next } = await query('polls', filter, requireCursor(page));
      return { rows: rows.map(pollJson), next };
    },
    countPolls: async (filter: PollFilter) => {
      await requireNames(context, query, filter);
      return query('countPolls', filter, MAX_COUNTED);
    },
    log: async (filter) => logLines(context.recentLines(), filter),
    alerts: async () => {
      const { alerts } = parts.current.config;
      return alertsJson(await parts.alerts.read(), alerts, parts.rewriteCommands);
    },
    rejected: async (filter, page) => {
      await requireNames(context, query, filter);
      return query('rejected', filter, requireCursor(page));
    },
    countRejected: async (filter) => {
      await requireNames(context, query, filter);
      return query('countRejected', filter, MAX_COUNTED);
    },
    revealRejected: async (rejected) =>
      /^\d{1,15}$/.test(rejected) ? query('rejectedText', Number(rejected)) : undefined,
    configuration,
    audit: (filter, page) => auditLines(context.audit, filter, page),
    countAudit: (filter) => countAuditLines(context.audit, filter),
    retry: async (filter) => {
      await requireNames(context, query, filter);
      const retried = await ledger.retry(filterOf(filter));
      await requireBatch(query, filter, retried);
      wakes.notifyAll();
      return retried;
    },
    retriable: async (filter) => {
      await requireNames(context, query, filter);
      const totals = await ledger.retriable(filterOf(filter));
      await requireBatch(query, filter, totals.deliveries);
      return totalsJson(totals);
    },
    replay: async (sink, source, lead) => {
      await requireNames(context, query, { sink, source });
      const owed = await ledger.replay(sink, { source, lead: leadIdOf(lead) });
      wakes.notify(sink);
      return owed;
    },
    discard: async (filter, note) => {
      await requireNames(context, query, filter);
      const discarded = await ledger.discard(filterOf(filter), {
        by: actor.getStore()?.who ?? 'unknown',
        note,
      });
      await requireBatch(query, filter, discarded);
      return discarded;
    },
    discardable: async (filter) => {
      await requireNames(context, query, filter);
      const totals = await ledger.discardable(filterOf(filter));
      await requireBatch(query, filter, totals.deliveries);
      return totalsJson(totals);
    },
    replayable: async (sink, filter) => {
      await requireNames(context, query, { sink, source: filter.source });
      const { sample, ...totals } = await ledger.replayable(sink, choiceOf(filter));
      return { ...totals, sample: sample.map(({ source, leadId }) => ({ source, lead_id: String(leadId) })) };
    },
    replayAll: async (sink, filter) => {
      await requireNames(context, query, { sink, source: filter.source });
      const owed = await ledger.replay(sink, choiceOf(filter));
      wakes.notify(sink);
      return owed;
    },
    cancelReplays: (sink) => ledger.cancelReplays(sink),
    cancellable: (sink) => ledger.cancellable(sink),
    poll: async (source) => pollNow(source),
    previewExport: (what, name) => previewExport(what, name, parts),
    runExport: (what, name) => runExport(what, name, context),
    pause: (sink, reason) => ledger.pause(sink, reason),
    resume: async (sink) => {
      const known = await ledger.resume(sink);
      wakes.notify(sink);
      return known;
    },
    test: async (sink) => {
      const config = parts.current.config.sinks.find(({ name }) => name === sink);
      if (!config) return undefined;
      const signal = AbortSignal.timeout(config.timeoutMs);
      const { arrived, durationMs, what } = await testSink(parts.current.config, sink, {
        clock: parts.clock,
        signal,
      });
      return { arrived, duration_ms: durationMs, what };
    },
    reload,
    previewReload: async (withPlan = false) => reloadPreviewJson(await previewReload(withPlan)),
  };
}

const HOUR_MS = 3_600_000;

/** Returns the deliveries that an action would change, as the API has them. */
function totalsJson({ deliveries, groups, unmatched }: LedgerTotals): ActionTotals {
  return {
    deliveries,
    groups: groups.map((group) => ({ ...group, reason: group.reason ?? null })),
    unmatched,
  };
}

/** Wraps the queries so that their failures become HTTP errors. */
function withHttpErrors(queries: PageReader): AskLedger {
  return async (name, ...args) => {
    try {
      return await queries.ask(name, ...args);
    } catch (error) {
      if (error instanceof LedgerBusy) throw new RequestError(503, 'too-slow', error.message, error.hint);
      if (error instanceof LedgerError)
        throw new RequestError(503, `ledger-${error.code}`, error.message, error.hint);
      throw error;
    }
  };
}

/** Returns the page request unchanged. @throws RequestError if its cursor is malformed */
function requireCursor(page: PageRequest): PageRequest {
  if (page.after === undefined || /^\d{1,15}\.\d{1,15}$/.test(page.after)) return page;
  throw new RequestError(
    400,
    'wrong-page',
    'The cursor of this page is invalid.',
    'Omit `after` to get the first page.',
  );
}

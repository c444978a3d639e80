import type { Alerts } from '../../../src/admin/contract/alerts.ts';
import type { AuditFilter, AuditRow } from '../../../src/admin/contract/audit.ts';
import type { Configuration, ReloadPreview, TestResult } from '../../../src/admin/contract/configuration.ts';
import type {
  DeliveryFilter,
  DeliveryRow,
  FailureReasons,
  ReplayFilter,
} from '../../../src/admin/contract/deliveries.ts';
import type {
  Content,
  FoundLeads,
  LeadDetail,
  LeadRow,
  LeadSearch,
  PersonSearch,
} from '../../../src/admin/contract/leads.ts';
import type { LogFilter, LogLine } from '../../../src/admin/contract/log.ts';
import type {
  ExportPreview,
  ExpressionRequest,
  Ids,
  Operations,
  Page,
  PageRequest,
} from '../../../src/admin/contract/operations.ts';
import type { Overview, SinkOverview } from '../../../src/admin/contract/overview.ts';
import type { PollFilter, PollRow } from '../../../src/admin/contract/polls.ts';
import type {
  ExpressionLanguage,
  LeadPreviews,
  TriedExpression,
} from '../../../src/admin/contract/previews.ts';
import type {
  RejectedContent,
  RejectedCount,
  RejectedFilter,
  RejectedRow,
} from '../../../src/admin/contract/rejected.ts';
import type { Period, SinkDetail, SinkRow } from '../../../src/admin/contract/sinks.ts';
import type { Count } from '../../../src/admin/contract/values.ts';
import { isLogged } from '../../../src/daemon/api/log-lines.ts';
import { aSinkDetail } from '../a-sink-detail.ts';

/** A leadsync whose state a test holds in its hands: every list may be changed, and every action is kept. */
export class FakeOperations implements Operations {
  readonly now: Date;
  readonly actions: string[] = [];
  installation: string | null = null;
  problems: Overview['problems'];
  sources: Overview['sources'];
  sinkRows: SinkOverview[];
  exports: Overview['exports'];
  backups: Overview['backups'];
  machines: Overview['machines'] = [];
  logLines: readonly LogLine[] = [
    {
      at: '2026-11-21T14:32:00.120Z',
      level: 'error',
      event: 'sink-held',
      source: null,
      sink: 'warehouse',
      message: 'sink warehouse: held: the database refuses connections.',
    },
    {
      at: '2026-11-21T14:31:31.900Z',
      level: 'warn',
      event: 'attempt-failed',
      source: null,
      sink: 'crm',
      message: 'sink crm: it answered 503.',
    },
    {
      at: '2026-11-21T14:31:31.900Z',
      level: 'info',
      event: 'poll-finished',
      source: 'main',
      sink: null,
      message: 'source main: 1 new lead.',
    },
  ];
  leadRows: LeadRow[];
  deliveryRows: DeliveryRow[];
  pollRows: PollRow[];
  hours: Overview['leads_per_hour'];
  speeds: Overview['speed_to_lead'];
  rate: Overview['delivered_per_minute'] = { now: 4.26, hour_ago: 12.5 };
  attempts: Overview['attempts_last_hour'] = [
    { sink: 'crm', delivered: 1_180, refused: 3, unavailable: 17, success_rate: 1_180 / 1_200 },
    { sink: 'drop', delivered: 1_200, refused: 0, unavailable: 0, success_rate: 1 },
    { sink: 'warehouse', delivered: 0, refused: 0, unavailable: 14, success_rate: 0 },
  ];
  config: Configuration;
  testResult: TestResult = { arrived: true, duration_ms: 143, what: 'It answered 204.' };
  rejectedRows: RejectedRow[] = [];
  preview: ReloadPreview = {
    file: '/etc/leadsync.yaml',
    options: [{ path: 'sinks.crm.timeout', before: '15s', after: '30s', restart: false }],
    plan: ['sink crm: timeout, from its next attempt on; still pending: 12 deliveries'],
    plan_failure: null,
    faults: [],
  };
  reloadResult: Awaited<ReturnType<Operations['reload']>>;
  detailOf: (row: LeadRow, deliveries: readonly DeliveryRow[]) => LeadDetail;
  rawOf: (row: LeadRow) => string;
  answers: Content['answers'] = [];
  previewed: LeadPreviews['sinks'];
  language: ExpressionLanguage;
  tried: TriedExpression | Error = { kind: 'value', type: 'text of 3 characters', json: '"Ada"' };
  /** Set to let everything fail. */
  failure: Error | undefined;
  exportPreview: ExportPreview = { keep: null, removed: [], unknown: null };

  constructor(world: World) {
    this.now = world.now;
    this.problems = world.problems;
    this.sources = world.sources;
    this.sinkRows = world.sinks;
    this.exports = world.exports;
    this.backups = world.backups;
    this.leadRows = world.leads;
    this.deliveryRows = world.deliveries;
    this.pollRows = world.polls;
    this.hours = world.hours;
    this.speeds = world.speeds;
    this.config = world.configuration;
    this.detailOf = world.detailOf;
    this.rawOf = world.rawOf;
    this.previewed = world.previews;
    this.language = world.language;
    this.reloadResult = { applied: true, generation: 8, changes: ['sink crm changed: timeout'], restart: [] };
  }

  async overview(): Promise<Overview> {
    this.#mayFail();
    return {
      version: '0.1.0',
      at: this.now.toISOString(),
      installation: this.installation,
      healthy: this.problems.length === 0,
      problems: this.problems,
      sources: this.sources,
      sinks: this.sinkRows,
      exports: this.exports,
      backups: this.backups,
      machines: this.machines,
      leads_per_hour: this.hours,
      speed_to_lead: this.speeds,
      delivered_per_minute: this.rate,
      attempts_last_hour: this.attempts,
    };
  }

  async leads(search: LeadSearch, page: PageRequest): Promise<Page<LeadRow>> {
    this.#mayFail();
    return cut(this.#matchingLeads(search), page);
  }

  async countLeads(search: LeadSearch): Promise<Count> {
    return counted(this.#matchingLeads(search));
  }

  async services(): Promise<readonly string[]> {
    this.#mayFail();
    return [...new Set(this.leadRows.flatMap((row) => row.service_slug ?? []))].sort();
  }

  #matchingLeads({
    lead,
    service,
    source,
    listing,
    delivered,
    since,
    until,
  }: LeadSearch): readonly LeadRow[] {
    return this.leadRows.filter(
      (row) =>
        (lead === undefined || row.lead_id === lead) &&
        (service === undefined || row.service_slug === service) &&
        (source === undefined || row.source === source) &&
        (listing === undefined || (listing === 'gone') === (row.gone_at !== null)) &&
        (delivered === undefined || (delivered === 'everywhere') === (row.sinks_delivered === row.sinks)) &&
        (since === undefined || row.first_seen_at >= since) &&
        (until === undefined || row.first_seen_at < until),
    );
  }

  /** Takes the id of a lead as the client's name. */
  async findLeads({ text }: PersonSearch, page: PageRequest): Promise<FoundLeads> {
    this.#mayFail();
    this.actions.push(`find ${text}`);
    const { rows, next } = cut(
      this.leadRows.filter(({ lead_id }) => lead_id.includes(text)),
      page,
    );
    const contact = { client_email: `${text}@example.com`, client_phone_number: null };
    return {
      rows: rows.map((row) => ({
        ...row,
        ...contact,
        client_name: `Client ${row.lead_id}`,
        matched_version: row.version,
      })),
      next,
      searched_until: next === null ? null : (rows.at(-1)?.first_seen_at ?? null),
    };
  }

  async lead(source: string, lead: string): Promise<LeadDetail | undefined> {
    this.#mayFail();
    const row = this.#row(source, lead);
    return row && this.detailOf(row, this.deliveryRows);
  }

  async reveal(
    source: string,
    lead: string,
    version?: number,
    delivery?: string,
  ): Promise<Content | undefined> {
    const row = this.#row(source, lead);
    const { versions } = row ? this.detailOf(row, []) : { versions: [] };
    const shown = versions.find((one) => one.version === (version ?? row?.version));
    if (row === undefined || shown === undefined) return undefined;
    const named = version === undefined ? (delivery ? ` of ${delivery}` : '') : ` version ${version}`;
    this.actions.push(`reveal ${source} ${lead}${named}`);
    const raw = (of: number) => (of === 0 ? null : this.rawOf({ ...row, version: of }));
    const { version: no } = shown;
    return {
      source,
      lead_id: lead,
      ...shown,
      raw: raw(no) ?? '',
      raw_before: raw(no - 1),
      answers: this.answers.filter((one) => delivery === undefined || one.delivery_id === delivery),
    };
  }

  async previews(source: string, lead: string): Promise<LeadPreviews | undefined> {
    if (this.#row(source, lead) === undefined) return undefined;
    this.actions.push(`previews ${source} ${lead}`);
    return { source, lead_id: lead, sinks: this.previewed };
  }

  async tryExpression({ expression, sink, lead }: ExpressionRequest): Promise<TriedExpression> {
    const of = lead ? `${lead.source} ${lead.lead}` : 'the sample lead';
    this.actions.push(`try ${JSON.stringify(expression)} on ${of} for ${sink ?? 'no sink'}`);
    if (this.tried instanceof Error) throw this.tried;
    return this.tried;
  }

  async expressionLanguage(): Promise<ExpressionLanguage> {
    return this.language;
  }

  async deliveries(filter: DeliveryFilter, page: PageRequest): Promise<Page<DeliveryRow>> {
    this.#mayFail();
    return cut(this.#matching(filter), page);
  }

  async countDeliveries(filter: DeliveryFilter): Promise<Count> {
    return counted(this.#matching(filter));
  }

  async failureReasons(): Promise<FailureReasons> {
    this.#mayFail();
    const rows = this.deliveryRows.flatMap(({ state, reason, sink }) =>
      reason !== null && (state === 'dead' || state === 'pending')
        ? [{ state, reason, deliveries: 1, sinks: [{ sink, deliveries: 1 }] }]
        : [],
    );
    return { rows: rows.slice(0, 20), others: 0, complete: true };
  }

  async sinks(): Promise<readonly SinkRow[]> {
    this.#mayFail();
    return this.sinkRows.map((sink) => ({
      ...sink,
      address: 'https://crm.example.com/[secret]',
      attempts_last_hour: aSinkDetail(sink, '1h', this.now).attempts,
    }));
  }

  async log(filter: LogFilter): Promise<readonly LogLine[]> {
    return this.logLines.filter((line) => isLogged(line, filter));
  }

  async sink(name: string, period: Period): Promise<SinkDetail | undefined> {
    this.#mayFail();
    const sink = this.#sink(name);
    return sink && aSinkDetail(sink, period, this.now);
  }

  async polls(filter: PollFilter, page: PageRequest): Promise<Page<PollRow>> {
    this.#mayFail();
    return cut(this.#matchingPolls(filter), page);
  }

  async countPolls(filter: PollFilter): Promise<Count> {
    return counted(this.#matchingPolls(filter));
  }

  #matchingPolls({ source, status, result }: PollFilter): PollRow[] {
    return this.pollRows.filter(
      (row) =>
        (source === undefined || row.source === source) &&
        (status === undefined || row.status === status) &&
        (result === undefined ||
          (result === 'not-unchanged' ? row.status !== 'unchanged' : row.result === result)),
    );
  }

  alertsNow: Alerts = {
    destinations: [
      { name: 'ops', type: 'slack', unsent: 0, unsent_since: null },
      { name: 'mail', type: 'email', unsent: 1, unsent_since: '2026-11-21T14:31:00.000Z' },
    ],
    alerts: [
      {
        condition: 'sink_held',
        severity: 'critical',
        about: 'warehouse',
        message:
          'warehouse has been held: <b>the database</b> refuses connections. Run `leadsync test-sink warehouse`.',
        state: 'active',
        since: '2026-11-21T13:54:00.000Z',
        reported_at: '2026-11-21T14:24:00.000Z',
        over_at: null,
        next_notice: 'reminder',
        next_notice_at: '2026-11-22T14:24:00.000Z',
        unsent_to: ['mail'],
        runbook: 'docs/operating.md#sink-held',
      },
      {
        condition: 'disk_low',
        severity: 'warning',
        about: null,
        message: 'The disk is nearly full.',
        state: 'new',
        since: '2026-11-21T14:31:00.000Z',
        reported_at: null,
        over_at: null,
        next_notice: 'first',
        next_notice_at: null,
        unsent_to: [],
        runbook: 'docs/operating.md#disk-low',
      },
    ],
  };

  async alerts(): Promise<Alerts> {
    this.#mayFail();
    return this.alertsNow;
  }

  async rejected(filter: RejectedFilter, page: PageRequest): Promise<Page<RejectedRow>> {
    this.#mayFail();
    return cut(this.#matchingRejected(filter), page);
  }

  async countRejected(filter: RejectedFilter): Promise<RejectedCount> {
    const rows = this.#matchingRejected(filter);
    const groups = Map.groupBy(rows, ({ source, path, reason }) => JSON.stringify([source, path, reason]));
    const faults = [...groups.values()].flatMap(([row, ...more]) =>
      row ? [{ source: row.source, path: row.path, reason: row.reason, leads: more.length + 1 }] : [],
    );
    return { ...counted(rows), faults: faults.sort((one, other) => other.leads - one.leads) };
  }

  #matchingRejected({ source, state }: RejectedFilter): RejectedRow[] {
    return this.rejectedRows.filter(
      (row) =>
        (source === undefined || row.source === source) && (state === undefined || row.state === state),
    );
  }

  async revealRejected(rejected: string): Promise<RejectedContent | undefined> {
    this.actions.push(`reveal rejected ${rejected}`);
    const row = this.rejectedRows.find(({ rejected_id }) => String(rejected_id) === rejected);
    return row && { ...row, raw: '{"id":"<canary>"}' };
  }

  auditRows: AuditRow[] = [
    {
      id: '7.120',
      at: '2026-11-21T14:31:00.000Z',
      who: 'anna',
      via: 'session',
      what: 'pause',
      address: '10.0.0.7',
      details: { sink: 'crm', reason: '<b>moving</b>' },
    },
    {
      id: '7.0',
      at: '2026-11-21T14:30:00.000Z',
      who: null,
      via: null,
      what: 'token refused',
      address: '10.0.0.9',
      details: {},
    },
  ];

  async audit(filter: AuditFilter, page: PageRequest): Promise<Page<AuditRow>> {
    this.#mayFail();
    return cut(this.#matchingLines(filter), page);
  }

  async countAudit(filter: AuditFilter): Promise<Count> {
    return counted(this.#matchingLines(filter));
  }

  #matchingLines({ who, what }: AuditFilter): AuditRow[] {
    return this.auditRows.filter(
      (row) => (who === undefined || row.who === who) && (what === undefined || row.what === what),
    );
  }

  async configuration(): Promise<Configuration> {
    this.#mayFail();
    return this.config;
  }

  async retry(filter: DeliveryFilter): Promise<number> {
    const meant = this.#matching(filter).filter(({ state }) => state === 'dead' || state === 'pending');
    this.actions.push(`retry ${JSON.stringify(filter)}: ${meant.length}`);
    this.deliveryRows = this.deliveryRows.map((row) =>
      meant.includes(row) ? { ...row, state: 'pending', reason: null, settled_at: null } : row,
    );
    return meant.length;
  }

  async retriable(filter: DeliveryFilter & Ids) {
    return { deliveries: this.#matching(filter).length, groups: [], unmatched: [] };
  }

  async discardable(filter: DeliveryFilter & Ids) {
    return { deliveries: this.#matching({ ...filter, state: 'dead' }).length, groups: [], unmatched: [] };
  }

  async cancellable(sink: string) {
    return this.#sink(sink) && { cancelled: 0, attempted: 0, needed: 0 };
  }

  async discard({ ids, ...filter }: DeliveryFilter & Ids, note: string): Promise<number> {
    const isNamed = ({ delivery_id }: DeliveryRow) => ids === undefined || ids.includes(delivery_id);
    const meant = this.#matching({ ...filter, state: 'dead' }).filter(isNamed);
    this.actions.push(`discard ${JSON.stringify(ids ?? filter)} ${note}: ${meant.length}`);
    const reason = `discarded by anna: ${note}.`;
    this.deliveryRows = this.deliveryRows.map((row) =>
      meant.includes(row) ? { ...row, state: 'skipped', discarded: true, reason } : row,
    );
    return meant.length;
  }

  async replayable() {
    const sample = this.leadRows.slice(0, 10).map(({ source, lead_id }) => ({ source, lead_id }));
    return { leads: this.leadRows.length, sources: ['main'], sample, unmatched: [] };
  }

  async replayAll(sink: string, filter: ReplayFilter & Ids): Promise<number> {
    this.actions.push(`replay all ${sink} ${JSON.stringify(filter)}`);
    return this.leadRows.length;
  }

  async cancelReplays(sink: string) {
    this.actions.push(`cancel replays ${sink}`);
    const cancelled = this.#sink(sink)?.replays_pending ?? 0;
    return this.#change(sink, { replays_pending: 0 }) ? { cancelled, attempted: 0, needed: 0 } : undefined;
  }

  async replay(sink: string, source: string, lead: string): Promise<number> {
    this.actions.push(`replay ${sink} ${source} ${lead}`);
    return this.#sink(sink) && this.#row(source, lead) ? 1 : 0;
  }

  async poll(source: string): Promise<boolean | undefined> {
    this.actions.push(`poll ${source}`);
    const known = this.sources.find((one) => one.source === source);
    return known && known.last_poll_status !== 'running';
  }

  async previewExport(what: 'export' | 'backup', name: string): Promise<ExportPreview | undefined> {
    const names =
      what === 'export' ? this.exports.map((one) => one.export) : this.backups.map((one) => one.backup);
    return names.includes(name) ? this.exportPreview : undefined;
  }

  async runExport(what: 'export' | 'backup', name: string): Promise<boolean | undefined> {
    this.actions.push(`run ${what} ${name}`);
    const known =
      what === 'export'
        ? this.exports.find((one) => one.export === name)
        : this.backups.find((one) => one.backup === name);
    return known && known.state !== 'running';
  }

  async pause(sink: string, reason: string): Promise<boolean> {
    this.actions.push(`pause ${sink}: ${reason}`);
    return this.#change(sink, { state: 'paused', reason, since: this.now.toISOString() });
  }

  async resume(sink: string): Promise<boolean> {
    this.actions.push(`resume ${sink}`);
    const isHeld = this.#sink(sink)?.state === 'held';
    const probed = { next_attempt_at: this.now.toISOString() };
    return this.#change(sink, isHeld ? probed : { state: 'healthy', reason: null, since: null });
  }

  async test(sink: string): Promise<TestResult | undefined> {
    this.actions.push(`test ${sink}`);
    return this.#sink(sink) && this.testResult;
  }

  async reload() {
    this.actions.push('reload');
    return this.reloadResult;
  }

  async previewReload(withPlan = false): Promise<ReloadPreview> {
    return withPlan ? this.preview : { ...this.preview, plan: [] };
  }

  #mayFail(): void {
    if (this.failure) throw this.failure;
  }

  #row(source: string, lead: string): LeadRow | undefined {
    return this.leadRows.find((row) => row.source === source && row.lead_id === lead);
  }

  #sink(name: string): SinkOverview | undefined {
    return this.sinkRows.find(({ sink }) => sink === name);
  }

  #change(name: string, change: Partial<SinkOverview>): boolean {
    const sink = this.#sink(name);
    if (sink === undefined) return false;
    this.sinkRows = this.sinkRows.map((row) => (row === sink ? { ...row, ...change } : row));
    return true;
  }

  #matching({ sink, source, lead, delivery, state, reason, since, until }: DeliveryFilter): DeliveryRow[] {
    const states: readonly unknown[] = state === 'undelivered' ? ['pending', 'dead'] : [state];
    return this.deliveryRows.filter(
      (row) =>
        (sink === undefined || row.sink === sink) &&
        (source === undefined || row.source === source) &&
        (lead === undefined || row.lead_id === lead) &&
        (delivery === undefined || row.delivery_id === delivery) &&
        (state === undefined || states.includes(row.state)) &&
        (reason === undefined || row.reason?.includes(reason)) &&
        (since === undefined || row.owed_at >= since) &&
        (until === undefined || row.owed_at < until),
    );
  }
}

/** What a fake leadsync starts with. */
export interface World {
  readonly now: Date;
  readonly problems: Overview['problems'];
  readonly sources: Overview['sources'];
  readonly sinks: SinkOverview[];
  readonly exports: Overview['exports'];
  readonly backups: Overview['backups'];
  readonly leads: LeadRow[];
  readonly deliveries: DeliveryRow[];
  readonly polls: PollRow[];
  readonly hours: Overview['leads_per_hour'];
  readonly speeds: Overview['speed_to_lead'];
  readonly configuration: Configuration;
  readonly detailOf: (row: LeadRow, deliveries: readonly DeliveryRow[]) => LeadDetail;
  readonly rawOf: (row: LeadRow) => string;
  readonly previews: LeadPreviews['sinks'];
  readonly language: ExpressionLanguage;
}

/** Returns the number of rows, as a count that stops at 10,000. */
function counted(rows: readonly unknown[]): Count {
  return { count: Math.min(10_000, rows.length), isAtLeast: rows.length >= 10_000 };
}

function cut<Row>(newestFirst: readonly Row[], { limit, after, order }: PageRequest): Page<Row> {
  const rows = order === 'oldest' ? newestFirst.toReversed() : newestFirst;
  const start = after === undefined ? 0 : Number(after);
  const end = start + limit;
  return { rows: rows.slice(start, end), next: end < rows.length ? String(end) : null };
}

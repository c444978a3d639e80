import type { Operations } from '../../src/admin/contract/operations.ts';
import { aSinkDetail } from './a-sink-detail.ts';

const AT = '2026-11-20T10:00:00.000Z';

/** The operations of a leadsync with one lead, one sink, and nothing that is wrong. What was asked for is kept in `asked`. */
export function aWellLeadsync(): Operations & { readonly asked: unknown[][] } {
  const asked: unknown[][] = [];
  const lead = {
    source: 'main',
    lead_id: '42',
    service_slug: 'cleaning',
    version: 1,
    created_at: AT,
    first_seen_at: AT,
    changed_at: AT,
    last_listed_at: null,
    gone_at: null,
    sinks: 2,
    sinks_delivered: 1,
    sinks_dead: 0,
  };
  const sink = {
    sink: 'crm',
    type: 'webhook',
    formerly: 'hub',
    state: 'healthy' as const,
    reason: null,
    since: null,
    problems: [],
    pending: 0,
    retrying: 0,
    replays_pending: 0,
    delivered: 1,
    dead: 0,
    skipped: 0,
    left_out_since_delivered: 0,
    oldest_owed_at: null,
    last_delivered_at: AT,
    next_attempt_at: null,
    breaker: null,
    quota: null,
  };
  const kept =
    <Value>(name: string, value: Value) =>
    (...args: unknown[]) => {
      asked.push([name, ...args]);
      return Promise.resolve(value);
    };
  return {
    asked,
    overview: kept('overview', {
      version: '1.2.3',
      at: AT,
      installation: null,
      healthy: true,
      problems: [],
      sources: [],
      sinks: [sink],
      exports: [],
      backups: [],
      machines: [],
      leads_per_hour: [],
      speed_to_lead: [],
      attempts_last_hour: [],
      delivered_per_minute: { now: 0, hour_ago: 0 },
    }),
    leads: kept('leads', { rows: [lead], next: null }),
    countLeads: kept('countLeads', { count: 1, isAtLeast: false }),
    services: kept('services', ['cleaning']),
    findLeads: kept('findLeads', { rows: [], next: null, searched_until: null }),
    lead: async (...args) => {
      asked.push(['lead', ...args]);
      return args[1] === '42' ? { lead, versions: [], deliveries: [] } : undefined;
    },
    reveal: async (...args) => {
      asked.push(['reveal', ...args]);
      const version = { version: 1, valid_from: AT, poll_id: 1, changed_fields: null };
      const content = {
        source: 'main',
        lead_id: '42',
        ...version,
        raw: '{"id":42}',
        raw_before: null,
        answers: [],
      };
      return (args[2] ?? 1) === 1 ? content : undefined;
    },
    previews: async (...args) => {
      asked.push(['previews', ...args]);
      return args[1] === '42' ? { source: 'main', lead_id: '42', sinks: [] } : undefined;
    },
    tryExpression: kept('tryExpression', { kind: 'value', type: 'text of 1 character', json: '"x"' }),
    expressionLanguage: kept('expressionLanguage', {
      variables: [],
      functions: [],
      others: [],
      max_characters: 4_000,
    }),
    deliveries: kept('deliveries', { rows: [], next: null }),
    countDeliveries: kept('countDeliveries', { count: 7, isAtLeast: false }),
    failureReasons: kept('failureReasons', { rows: [], others: 0, complete: true }),
    sinks: kept('sinks', [{ ...sink, address: null, attempts_last_hour: aSinkDetail(sink, '1h').attempts }]),
    sink: async (...args) => {
      asked.push(['sink', ...args]);
      return args[0] === 'crm' ? aSinkDetail(sink, args[1]) : undefined;
    },
    polls: kept('polls', { rows: [], next: null }),
    countPolls: kept('countPolls', { count: 0, isAtLeast: false }),
    log: kept('log', [
      { at: AT, level: 'info', event: 'started', source: null, sink: null, message: 'leadsync runs.' },
    ]),
    alerts: kept('alerts', { destinations: [], alerts: [] }),
    rejected: kept('rejected', { rows: [], next: null }),
    countRejected: kept('countRejected', { count: 0, isAtLeast: false, faults: [] }),
    revealRejected: async (...args) => {
      asked.push(['revealRejected', ...args]);
      return args[0] === '1'
        ? {
            rejected_id: 1,
            source: 'main',
            lead_id: '7',
            path: '/id',
            reason: 'It is wrong.',
            poll_id: 3,
            rejected_at: AT,
            last_poll_id: 4,
            last_rejected_at: AT,
            resolved_at: null,
            state: 'open' as const,
            raw: '{}',
          }
        : undefined;
    },
    configuration: kept('configuration', { generation: 1, loaded_at: AT, stale: null, values: [] }),
    audit: kept('audit', { rows: [], next: null }),
    countAudit: kept('countAudit', { count: 0, isAtLeast: false }),
    retry: kept('retry', 3),
    retriable: kept('retriable', totals('dead')),
    discard: kept('discard', 2),
    discardable: kept('discardable', totals('dead')),
    replayable: async () => ({
      leads: 4,
      sources: ['main'],
      sample: [{ source: 'main', lead_id: '42' }],
      unmatched: ['9'],
    }),
    replayAll: kept('replayAll', 4),
    cancelReplays: kept('cancelReplays', { cancelled: 3, attempted: 1, needed: 0 }),
    cancellable: kept('cancellable', { cancelled: 5, attempted: 0, needed: 0 }),
    replay: kept('replay', 1),
    poll: async (...args) => {
      asked.push(['poll', ...args]);
      return args[0] === 'main' ? true : undefined;
    },
    previewExport: async (_what, name) =>
      name === 'nightly' ? { keep: null, removed: [], unknown: null } : undefined,
    runExport: async (...args) => {
      asked.push(['runExport', ...args]);
      return args[1] === 'nightly' ? true : undefined;
    },
    pause: async (...args) => {
      asked.push(['pause', ...args]);
      return args[0] === 'crm';
    },
    resume: async (...args) => {
      asked.push(['resume', ...args]);
      return args[0] === 'crm';
    },
    test: kept('test', { arrived: true, duration_ms: 1, what: 'It arrived.' }),
    reload: kept('reload', { applied: true, generation: 2 }),
    previewReload: kept('previewReload', {
      file: '/etc/leadsync.yaml',
      options: [],
      plan: [],
      plan_failure: null,
      faults: [],
    }),
  };
}

/** The deliveries of one group, and an id that selects none. */
function totals(state: 'dead') {
  const group = { sink: 'crm', source: 'main', state, reason: null, deliveries: 3 };
  return { deliveries: 3, groups: [group], unmatched: ['9'] };
}

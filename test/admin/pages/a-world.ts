import type { DeliveryRow } from '../../../src/admin/contract/deliveries.ts';
import type { LeadDetail, LeadRow } from '../../../src/admin/contract/leads.ts';
import type { SinkOverview } from '../../../src/admin/contract/overview.ts';
import type { PollRow } from '../../../src/admin/contract/polls.ts';
import type { LeadPreviews } from '../../../src/admin/contract/previews.ts';
import { aLead } from '../../support/scene/a-lead.ts';
import { aBackupOfEach, anExportOfEach } from './an-export-of-each.ts';
import type { World } from './fake-operations.ts';
import { theLanguage } from './the-language.ts';

const SERVICES = ['removalists', 'house-cleaning', 'solar-panels', 'landscaping', 'electricians', 'painting'];
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** An afternoon of a small business: one sink has gone away, one has given up a few leads, the others are well. */
export function aWorld(now = new Date('2026-11-21T14:32:07.412Z')): World {
  const before = (ms: number) => new Date(now.getTime() - ms).toISOString();
  const leads = Array.from({ length: 130 }, (_, at): LeadRow => {
    const seen = (at * at * 0.31 + at * 2.3 + 0.6) * MINUTE;
    const changed = at % 17 === 3;
    return {
      source: at % 9 === 4 ? 'brisbane' : 'main',
      lead_id: String(48_211 - at * 3),
      service_slug: at === 11 ? null : (SERVICES[(at * 7) % SERVICES.length] ?? null),
      version: changed ? 2 : 1,
      created_at: before(seen + 21_000 + (at % 7) * 900),
      first_seen_at: before(seen),
      changed_at: before(changed ? seen / 2 : seen),
      last_listed_at: at % 31 === 7 ? before(seen / 3 + 30_000) : null,
      gone_at: at % 31 === 7 ? before(seen / 3) : null,
      sinks: 4,
      sinks_delivered: at % 11 === 0 ? 3 : 4,
      sinks_dead: at === 0 ? 1 : 0,
    };
  });
  const deliveries = leads.flatMap((lead, at) => deliveriesOf(lead, at, before));
  return {
    now,
    leads,
    deliveries,
    problems: [
      {
        code: 'sink_held',
        severity: 'critical',
        about: 'warehouse',
        message: 'The sink warehouse has been held for 38 min: the database refuses connections.',
        next_step:
          'See whether PostgreSQL runs at warehouse.internal:5432. Nothing is lost: 14 leads wait, and go out by themselves when it is back; `leadsync resume warehouse` sends a probe now.',
        page_step: 'See whether PostgreSQL runs at warehouse.internal:5432.',
        runbook: 'docs/operating.md#sink-held',
        runbook_url: null,
      },
      {
        code: 'deliveries_dead',
        severity: 'critical',
        about: 'crm',
        message: '3 deliveries to crm are dead: it answered 422.',
        next_step: 'Look at why under Deliveries, mend what refused them, then retry the dead.',
        page_step: 'Look at why under Deliveries, mend what refused them, then retry the dead.',
        runbook: 'docs/operating.md#deliveries-dead',
        runbook_url: null,
      },
      {
        code: 'export_fails',
        severity: 'warning',
        about: 'lake',
        message:
          'Export lake failed 3 times in a row, and the last success was 2026-11-21T11:00:00Z (3 h ago): The storage does not answer (ECONNREFUSED).',
        next_step:
          'Check whether the storage runs. leadsync retries it in 4 min; `leadsync export --name lake` runs it now.',
        page_step:
          'Check whether the storage runs. leadsync retries it in 4 min; `leadsync export --name lake` runs it now.',
        runbook: 'docs/operating.md#export-fails',
        runbook_url: null,
      },
    ],
    sources: [
      aSource('main', before(12_000), 'unchanged', 41_877, 41_880),
      {
        ...aSource('brisbane', before(19_000), 'success', 6_321, 6_334),
        leads_rejected: 2,
        problems: ['leads_rejected'],
      },
    ],
    sinks: theSinks(before),
    exports: anExportOfEach(before),
    backups: aBackupOfEach(before),
    hours: Array.from({ length: 48 }, (_, at) => {
      const hour = new Date(Math.floor(now.getTime() / HOUR) * HOUR - (47 - at) * HOUR);
      const ofDay = (hour.getUTCHours() + 10) % 24;
      const busy = Math.max(0, Math.sin(((ofDay - 5) / 17) * Math.PI));
      return {
        hour: hour.toISOString(),
        leads: Math.round(busy * (58 + ((at * 37) % 23)) + ((at * 13) % 4)),
      };
    }),
    speeds: [
      aSpeed('crm', 1_204, 0.182, 0.911, 16.4, 31.2),
      aSpeed('drop', 1_204, 61.4, 118, 78.1, 143),
      aSpeed('warehouse', 871, 0.31, 2_280, 17.2, 2_297),
    ],
    polls: Array.from({ length: 140 }, (_, at) => aPoll(at, before)),
    configuration: theConfiguration(before(3 * HOUR + 12 * MINUTE)),
    previews: thePreviews(),
    language: theLanguage,
    detailOf: (row, all) => detailOf(row, all, before),
    rawOf: ({ lead_id, version }) => {
      const client_phone_number = `+61 400 000 00${version}`;
      return aLead({ id: Number(lead_id), client_name: 'Ada Example', client_phone_number });
    },
  };
}

function aSource(source: string, at: string, status: 'success' | 'unchanged', listed: number, leads: number) {
  return {
    source,
    leads,
    leads_listed: listed,
    leads_rejected: 0,
    last_poll_at: at,
    last_poll_status: status,
    last_success_at: at,
    freshness_seconds: 12.4,
    error: null,
    error_code: null,
    failing_since: null,
    next_poll_at: new Date(Date.parse(at) + 30_000).toISOString(),
    problems: [],
  };
}

function aSpeed(
  sink: string,
  leads: number,
  seen50: number,
  seen95: number,
  created50: number,
  created95: number,
) {
  return {
    sink,
    leads,
    seen_to_delivered_p50_seconds: seen50,
    seen_to_delivered_p95_seconds: seen95,
    created_to_delivered_p50_seconds: created50,
    created_to_delivered_p95_seconds: created95,
  };
}

function theSinks(before: (ms: number) => string): SinkOverview[] {
  const idle = {
    formerly: null,
    reason: null,
    since: null,
    problems: [],
    retrying: 0,
    replays_pending: 0,
    skipped: 0,
    left_out_since_delivered: 0,
    oldest_owed_at: null,
    next_attempt_at: null,
    breaker: null,
    quota: null,
  };
  return [
    {
      ...idle,
      sink: 'crm',
      type: 'webhook',
      state: 'healthy',
      problems: ['deliveries_dead'],
      pending: 1,
      delivered: 48_190,
      dead: 3,
      retrying: 1,
      oldest_owed_at: before(4 * MINUTE),
      next_attempt_at: before(-52_000),
      last_delivered_at: before(36_000),
      skipped: 7,
      left_out_since_delivered: 7,
      breaker: aBreaker({
        recent_failures: 11,
        failure_rate: 0.11,
        explanation: '11 of its last 100 batches failed. It is held when 18 of the last 20 fail.',
      }),
      quota: { unit: 'API requests', used: 12_345, limit: 250_000, read_at: before(36_000) },
    },
    {
      ...idle,
      sink: 'drop',
      type: 'csv',
      state: 'healthy',
      pending: 6,
      delivered: 48_188,
      dead: 0,
      oldest_owed_at: before(70_000),
      last_delivered_at: before(74_000),
    },
    {
      ...idle,
      sink: 'warehouse',
      type: 'postgres',
      state: 'held',
      reason: 'The database refuses connections (ECONNREFUSED).',
      since: before(38 * MINUTE),
      problems: ['sink_held'],
      pending: 14,
      delivered: 48_180,
      dead: 0,
      skipped: 112,
      breaker: aBreaker({
        recent_failures: 19,
        failure_rate: 0.19,
        failed_probes: 41,
        concurrency: 1,
        explanation:
          'It is held because 18 of its last 20 batches failed. 41 probes have failed since. After the first successful probe, it gets 2 batches at a time, then twice as many with each round of answers, up to 10.',
      }),
      oldest_owed_at: before(38 * MINUTE),
      next_attempt_at: before(-23_000),
      last_delivered_at: before(38 * MINUTE + 4_000),
    },
    {
      ...idle,
      sink: 'old-crm',
      type: null,
      state: 'orphaned',
      problems: ['sink_removed'],
      pending: 2,
      delivered: 19_022,
      dead: 0,
      oldest_owed_at: before(9 * 24 * HOUR),
      last_delivered_at: before(9 * 24 * HOUR),
    },
  ];
}

function aBreaker(more: Partial<NonNullable<SinkOverview['breaker']>>): SinkOverview['breaker'] {
  return {
    recent_attempts: 100,
    recent_failures: 0,
    failure_rate: 0,
    held_at_failures: 18,
    held_at_attempts: 20,
    held_at_consecutive_failures: 5,
    held_at_consecutive_refusals: 5,
    failed_probes: null,
    concurrency: 10,
    max_concurrency: 10,
    explanation: null,
    ...more,
  };
}

function deliveriesOf(lead: LeadRow, at: number, before: (ms: number) => string): DeliveryRow[] {
  const seen = Date.parse(lead.first_seen_at);
  const after = (ms: number) => new Date(seen + ms).toISOString();
  const base = (sink: string) => ({
    delivery_id: `${sink}:${lead.source}:${lead.lead_id}:1:${(at * 2_654_435 + 0x1a2b3c4d).toString(16).slice(0, 8)}`,
    source: lead.source,
    lead_id: lead.lead_id,
    lead_version: 1,
    sink,
    event: 'created',
    replay: false,
    discarded: false,
    owed_at: lead.first_seen_at,
    next_attempt_at: null,
    waits_for_batch_until: null,
    ref: null,
  });
  const dead = [5, 19, 40].includes(at);
  const down = at < 9;
  return [
    {
      ...base('crm'),
      state: dead ? 'dead' : 'delivered',
      reason: dead ? 'https://crm.example.com refused the lead (HTTP 422).' : null,
      attempts: at === 2 ? 3 : 1,
      attempts_made: at === 2 ? 3 : 1,
      last_http_status: dead ? 422 : 204,
      last_duration_ms: 41 + at,
      has_answer: dead,
      settled_at: after(dead ? 412 : 180 + (at % 11) * 23),
      ref: at === 12 ? { object: 'deal', id: '9001', url: 'https://crm.example.com/deals/9001' } : null,
    },
    {
      ...base('warehouse'),
      state: down ? 'pending' : 'delivered',
      reason: null,
      attempts: down ? 0 : 1,
      attempts_made: down ? 14 : 1,
      last_http_status: null,
      last_duration_ms: down ? 3_004 : 12,
      has_answer: false,
      settled_at: down ? null : after(310),
      next_attempt_at: down ? before(-23_000) : null,
    },
  ];
}

function aPoll(at: number, before: (ms: number) => string): PollRow {
  const started = 12_000 + at * 30_000;
  const status = at === 6 ? 'failed' : at % 4 === 1 ? 'success' : 'unchanged';
  const took =
    status === 'failed' ? 10_004 : status === 'success' ? 640 + ((at * 31) % 200) : 48 + ((at * 7) % 30);
  return {
    poll_id: 91_344 - at,
    source: at % 5 === 2 ? 'brisbane' : 'main',
    started_at: before(started),
    finished_at: before(started - took),
    duration_ms: took,
    status,
    leads_listed: status === 'failed' ? 0 : 41_877,
    leads_new: status === 'success' ? 1 + (at % 3) : 0,
    leads_changed: at === 13 ? 1 : 0,
    leads_rejected: 0,
    bytes: status === 'success' ? 34_120_411 : 0,
    http_status: status === 'failed' ? 503 : status === 'success' ? 200 : 304,
    error: status === 'failed' ? 'The service answered 503 and asked for 30 s of patience.' : null,
    problems: status === 'failed' ? ['poll_failed'] : [],
    listed_before: null,
    result: status,
    listing_rejected: 0,
  };
}

function detailOf(
  lead: LeadRow,
  deliveries: readonly DeliveryRow[],
  before: (ms: number) => string,
): LeadDetail {
  const own = deliveries.filter(({ source, lead_id }) => source === lead.source && lead_id === lead.lead_id);
  const first = { version: 1, valid_from: lead.first_seen_at, poll_id: 91_299, changed_fields: null };
  const changed = {
    version: 2,
    valid_from: lead.changed_at,
    poll_id: 91_322,
    changed_fields: ['client_phone_number', 'service_question_answers'],
  };
  return {
    lead,
    versions: lead.version > 1 ? [first, changed] : [first],
    deliveries: own.map((delivery) => ({ ...delivery, attempt_rows: attemptsOf(delivery, before) })),
  };
}

function attemptsOf(delivery: DeliveryRow, before: (ms: number) => string) {
  const last = {
    started_at: new Date(Date.parse(delivery.settled_at ?? delivery.owed_at) - 164).toISOString(),
    duration_ms: 164,
    outcome: delivery.state === 'dead' ? 'refused' : 'delivered',
    http_status: delivery.sink === 'crm' ? (delivery.state === 'dead' ? 422 : 200) : null,
    error: delivery.state === 'dead' ? 'https://crm.example.com refused the lead (HTTP 422).' : null,
    times: 1,
    last_started_at: null,
  };
  const unavailable = {
    ...last,
    started_at: delivery.owed_at,
    outcome: 'unavailable',
    error: 'The database refuses connections (ECONNREFUSED).',
    times: 14,
    last_started_at: before(18_000),
  };
  if (delivery.state === 'pending') return [unavailable];
  if (delivery.attempts < 3) return [last];
  return [
    {
      ...unavailable,
      http_status: 503,
      error: 'It answered 503.',
      times: 2,
      last_started_at: delivery.owed_at,
    },
    last,
  ];
}

function thePreviews(): LeadPreviews['sinks'] {
  const nothing = { reason: null, note: null, fields: null, previews: [] };
  const body = '{"type":"lead.created","data":{"name":"Ada Example","phone":null}}';
  return [
    {
      ...nothing,
      sink: 'crm',
      type: 'webhook',
      state: 'sent',
      delivery_state: 'delivered',
      note: 'It was delivered 2026-11-21T14:30:00.000Z, and is not sent again automatically; `leadsync replay --sink crm --lead 48196` sends it as a new delivery.',
      fields: [
        { name: 'name', json: '"Ada Example"' },
        { name: 'phone', json: 'null' },
        { name: 'rooms', json: '9007199254740993' },
      ],
      previews: [
        {
          target: 'POST https://crm.example.com/[secret]',
          fields: [{ name: 'webhook-id', value: 'crm:main:48196' }],
          content: body,
          truncated: false,
        },
      ],
    },
    {
      ...nothing,
      sink: 'drop',
      type: 'csv',
      state: 'withheld',
      delivery_state: null,
      reason: 'The expression of `rooms` failed for this lead at column 5: the text is not a whole number.',
    },
    {
      ...nothing,
      sink: 'warehouse',
      type: 'postgres',
      state: 'withheld',
      delivery_state: 'delivered',
      reason: 'Left out by `where` of warehouse.',
      previews: [
        {
          target: 'row of leads',
          fields: [{ name: 'lead_id', value: '48196' }],
          content: null,
          truncated: true,
        },
      ],
    },
  ];
}

function theConfiguration(loadedAt: string) {
  const value = (path: string, text: string, origin: string) => ({ path, value: text, origin });
  return {
    generation: 7,
    loaded_at: loadedAt,
    stale: null,
    values: [
      value('data_dir', '/var/lib/leadsync', 'leadsync.yaml:2'),
      value('sources.main.base_url', 'https://leads.example.com', 'leadsync.yaml:5'),
      value('sources.main.client_id', 'k3n2-prod', 'environment LEADS_CLIENT_ID'),
      value('sources.main.client_secret', '[secret]', 'file /run/secrets/leads'),
      value('sources.main.poll.every', '30s', 'default'),
      value('sources.brisbane.base_url', 'https://bne.leads.example.com', 'leadsync.yaml:11'),
      value('sources.brisbane.client_secret', '[secret]', 'environment BNE_SECRET'),
      value('sinks.crm.type', 'webhook', 'leadsync.yaml:18'),
      value('sinks.crm.url', 'https://crm.example.com/hooks/leads', 'leadsync.yaml:19'),
      value('sinks.crm.secret', '[secret]', 'environment CRM_WEBHOOK_SECRET'),
      value('sinks.crm.timeout', '15s', 'leadsync.yaml:21'),
      value('sinks.crm.retry.schedule', '5s, 5m, 30m, 2h, 5h, 10h, 14h, 20h, 24h', 'default'),
      value('sinks.drop.type', 'csv', 'leadsync.yaml:23'),
      value('sinks.drop.directory', '/srv/drop', 'leadsync.yaml:24'),
      value('admin.listen', '127.0.0.1:9464', 'default'),
    ],
  };
}

import type { SinkOverview } from '../../src/admin/contract/overview.ts';
import type { Period, SinkDetail } from '../../src/admin/contract/sinks.ts';

const STEPS = { '1h': 600, '24h': 3600, '7d': 21_600 } as const;
const PARTS = { '1h': 6, '24h': 24, '7d': 28 } as const;

/** Describes a sink whose attempts have every outcome, with a hold, a backlog, and dead deliveries. */
export function aSinkDetail(
  sink: SinkOverview,
  period: Period,
  now = new Date('2026-11-20T10:00:00.000Z'),
): SinkDetail {
  const before = (seconds: number) => new Date(now.getTime() - seconds * 1000).toISOString();
  const step = STEPS[period];
  const series = Array.from({ length: PARTS[period] }, (_, part) => {
    const delivered = Math.round(40 + 30 * Math.sin(part / 3));
    const [refused, unavailable] = [part % 5 === 0 ? 3 : 0, part % 7 === 3 ? 12 : 1];
    return {
      from: before((PARTS[period] - part) * step),
      delivered,
      refused,
      unavailable,
      success_rate: delivered / (delivered + refused + unavailable),
      duration_p50_ms: part === 4 ? null : 120 + (part % 4) * 15,
      duration_p95_ms: part === 4 ? null : 480 + (part % 6) * 140,
    };
  });
  const total = (of: 'delivered' | 'refused' | 'unavailable') =>
    series.reduce((sum, part) => sum + part[of], 0);
  const [delivered, refused, unavailable] = [total('delivered'), total('refused'), total('unavailable')];
  const attempt = (
    n: number,
    outcome: 'delivered' | 'refused' | 'unavailable',
    http_status: number | null,
  ) => ({
    delivery_id: `${sink.sink}:main:${48_205 - n}:1:0a1b2c3d`,
    source: 'main',
    lead_id: String(48_205 - n),
    started_at: before(40 + n * 31),
    duration_ms: 100 + n * 37,
    outcome,
    http_status,
    error: outcome === 'delivered' ? null : `https://crm.example.com answered with HTTP ${http_status}.`,
    times: outcome === 'unavailable' ? 14 : 1,
    last_started_at: outcome === 'unavailable' ? before(8) : null,
    has_answer: outcome === 'refused',
  });
  const failed = [attempt(1, 'unavailable', 503), attempt(2, 'refused', 422)];
  return {
    ...sink,
    at: now.toISOString(),
    period,
    period_start: before(PARTS[period] * step),
    counted_from: before(30 * 3600),
    options: [
      { option: 'type', value: sink.type ?? 'webhook', origin: 'leadsync.yaml:18' },
      { option: 'url', value: 'https://crm.example.com/[secret]', origin: 'leadsync.yaml:19' },
      { option: 'secret', value: '[secret]', origin: 'environment CRM_WEBHOOK_SECRET' },
    ],
    attempts: {
      delivered,
      refused,
      unavailable,
      success_rate: delivered / (delivered + refused + unavailable),
      duration_p50_ms: 139,
      duration_p95_ms: 812,
    },
    outcomes: [
      { outcome: 'delivered', http_status: 200, attempts: delivered },
      { outcome: 'unavailable', http_status: 503, attempts: unavailable - 1 },
      { outcome: 'refused', http_status: 422, attempts: refused },
      { outcome: 'unavailable', http_status: null, attempts: 1 },
    ],
    errors: [
      { reason: 'https://crm.example.com answered with HTTP 503.', attempts: unavailable - 1 },
      { reason: 'https://crm.example.com refused the lead (HTTP 422).', attempts: refused },
      { reason: null, attempts: 1 },
    ],
    step_seconds: step,
    series,
    holds: [
      {
        kind: 'held',
        since: before(38 * 60),
        until: sink.state === 'held' ? null : before(20 * 60),
        times: 3,
        reason: 'https://crm.example.com answered with HTTP 503.',
      },
      {
        kind: 'paused',
        since: before(26 * 3600),
        until: before(25 * 3600),
        times: 1,
        reason: 'moving house',
      },
    ],
    backlog: [0, 60, 600, 3600, 21_600, 86_400].map((from_seconds, at, all) => ({
      from_seconds,
      to_seconds: all[at + 1] ?? null,
      deliveries: [1, 0, 12, 1_204, 50_000, 0][at] ?? 0,
      at_least: at === 4,
    })),
    reasons: [
      { state: 'dead', reason: 'https://crm.example.com refused the lead (HTTP 422).', deliveries: 233 },
      { state: 'pending', reason: 'https://crm.example.com answered with HTTP 503.', deliveries: 14 },
    ],
    speed_to_lead: {
      sink: sink.sink,
      leads: 214,
      seen_to_delivered_p50_seconds: 0.41,
      seen_to_delivered_p95_seconds: 1.9,
      created_to_delivered_p50_seconds: 12.5,
      created_to_delivered_p95_seconds: 31,
    },
    reasons_complete: true,
    recent: [attempt(0, 'delivered', 200), ...failed, ...[3, 4, 5].map((n) => attempt(n, 'delivered', 200))],
    recent_failed: [...failed, attempt(60, 'refused', 422)],
  };
}

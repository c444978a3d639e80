import { html } from 'htm/preact';
import type { VNode } from 'preact';
import { countOf, printCount, printShare, printSpan } from '../../../platform/text/human-readable.ts';
import { Period, type SinkDetail } from '../../contract/sinks.ts';
import { sinkAddress, withQuery } from '../parts/addresses.ts';
import { badge } from '../parts/badge.ts';
import { chart } from '../parts/chart.ts';
import type { Content } from '../parts/content.ts';
import { countLink } from '../parts/count-link.ts';
import { formattedText } from '../parts/formatted-text.ts';
import { table } from '../parts/table.ts';
import { ago, moment } from '../parts/time-element.ts';

/** The period that the page shows unless the reader chooses another. */
export const DEFAULT_PERIOD: Period = '24h';

const HOUR_MS = 3_600_000;

/**
 * Whether a sink was held, or failed for the first time in the default period, within the last hour. The default period would then show the
 * failure in only one bar.
 */
export function beganToFailLately({ state, since, at, series }: SinkDetail): boolean {
  if (state === 'held') return since !== null && Date.parse(at) - Date.parse(since) < HOUR_MS;
  const failed = series.map(({ refused, unavailable }) => refused + unavailable > 0);
  return failed.length > 0 && failed.indexOf(true) === failed.length - 1;
}

const LABELS: Readonly<Record<Period, string>> = { '1h': '1 hour', '24h': '24 hours', '7d': '7 days' };
const STEPS: Readonly<Record<Period, string>> = { '1h': '10 minutes', '24h': 'hour', '7d': '6 hours' };

/** Returns the sections on a sink's activity in a period: a choice of periods, figures, charts, and attempts by status and by reason. */
export function figures(sink: SinkDetail, now: Date): Content {
  return [
    periodChoice(sink),
    tiles(sink, now),
    html`<p class="hint">Speed to lead measures at most 1,000 leads, spread evenly over the period. Backfills do not count, nor do leads that already existed when leadsync first polled their source.</p>`,
    charts(sink),
    html`<div class="pair">${outcomes(sink)}${errors(sink)}</div>`,
  ];
}

function periodChoice({ sink, period, period_start: since, counted_from: counted }: SinkDetail): VNode {
  const isLater = counted !== null && counted > since;
  return html`<nav class="periods" aria-label="Period">
    ${Period.options.map(
      (one) =>
        html`<a class="button" href=${withQuery(sinkAddress(sink), { period: one })} aria-current=${one === period ? 'true' : undefined}>${LABELS[one]}</a>`,
    )}
    <span class="hint">Attempts since ${moment(isLater ? counted : since)}${isLater && ', when leadsync began to count them'}.</span>
  </nav>`;
}

function tiles(detail: SinkDetail, now: Date): VNode {
  const { attempts, pending, dead, oldest_owed_at: oldest, period, sink } = detail;
  const { success_rate: rate, duration_p50_ms: p50, duration_p95_ms: p95 } = attempts;
  const all = allOf(attempts);
  return html`<dl class="tiles">
    ${tile(`Success rate, ${LABELS[period]}`, rate === null ? '–' : printShare(rate), rate === null ? 'no attempt' : `${printCount(attempts.delivered)} of ${countOf(all, 'attempt')}`)}
    ${speedTile(detail)}
    ${tile('Duration of a batch, p50', p50 === null ? '–' : printSpan(p50), p95 === null ? 'no batch' : `p95 ${printSpan(p95)}`)}
    ${tile('Pending', listed(sink, 'pending', pending), oldest ? html`oldest owed ${ago(oldest, now)}` : 'none is pending')}
    ${tile('Dead', listed(sink, 'dead', dead), dead > 0 ? 'given up' : 'none was given up', dead > 0)}
  </dl>`;
}

/** Returns a tile with the time taken to deliver the period's new leads after leadsync first saw them. */
function speedTile({ speed_to_lead: speed }: SinkDetail): VNode {
  const { leads, seen_to_delivered_p50_seconds: p50, seen_to_delivered_p95_seconds: p95 } = speed;
  if (p50 === null || p95 === null) return tile('Speed to lead, p50', '–', 'no new lead delivered');
  return tile(
    'Speed to lead, p50',
    printSpan(p50 * 1000),
    `p95 ${printSpan(p95 * 1000)}, ${countOf(leads, 'new lead')} measured`,
  );
}

function tile(label: string, value: Content, more: Content, bad = false): VNode {
  return html`<div><dt>${label}</dt><dd class=${bad && 'dead'}>${value}<small>${more}</small></dd></div>`;
}

function listed(sink: string, state: string, count: number): Content {
  return countLink(withQuery('/deliveries', { sink, state }), count);
}

function allOf({ delivered, refused, unavailable }: SinkDetail['attempts']): number {
  return delivered + refused + unavailable;
}

function charts({ series, attempts, period, step_seconds: stepSeconds }: SinkDetail): VNode {
  const start = ({ from }: SinkDetail['series'][number]) => Date.parse(from) / 1000;
  const { delivered, refused, unavailable, duration_p50_ms: p50, duration_p95_ms: p95 } = attempts;
  const counts = `${countOf(delivered, 'attempt')} delivered, ${printCount(refused)} refused, ${printCount(unavailable)} at an unavailable destination`;
  const durations =
    p50 === null || p95 === null ? 'no batch' : `p50 ${printSpan(p50)}, p95 ${printSpan(p95)}`;
  return html`<div class="pair">
    <section>
      <h2>Attempts <small>per ${STEPS[period]}</small></h2>
      ${chart({
        id: 'attempts-chart',
        label: `Attempts per ${STEPS[period]}: ${counts}`,
        kind: 'bars',
        unit: 'attempts',
        stepSeconds,
        series: [
          { name: 'delivered', tone: 'accent' },
          { name: 'refused', tone: 'bad' },
          { name: 'unavailable', tone: 'warning' },
        ],
        points: series.map((part) => [start(part), part.delivered, part.refused, part.unavailable]),
      })}
    </section>
    <section>
      <h2>Duration of a batch <small>per ${STEPS[period]}</small></h2>
      ${chart({
        id: 'durations-chart',
        label: `Duration of a batch per ${STEPS[period]}: ${durations}`,
        kind: 'lines',
        unit: 'ms',
        stepSeconds,
        series: [
          { name: 'p50', tone: 'accent' },
          { name: 'p95', tone: 'warning' },
        ],
        points: series.map((part) => [start(part), part.duration_p50_ms, part.duration_p95_ms]),
      })}
    </section>
  </div>`;
}

function outcomes({ outcomes: rows, attempts }: SinkDetail): VNode {
  const all = allOf(attempts);
  return html`<section><h2>Outcomes</h2>${table({
    name: 'Attempts by outcome and HTTP status',
    columns: [
      { label: 'Outcome', of: ({ outcome }) => badge(outcome) },
      { label: 'HTTP status', of: ({ http_status: status }) => status ?? html`<span class="none">–</span>` },
      { label: 'Attempts', of: (row) => printCount(row.attempts), number: true },
      { label: 'Share', of: (row) => printShare(row.attempts / all), number: true },
    ],
    rows,
    key: ({ outcome, http_status: status }) => `outcome-${outcome}-${status}`,
    empty: 'No attempt in this period.',
  })}</section>`;
}

function errors({ errors: rows }: SinkDetail): VNode {
  return html`<section><h2>Errors</h2>${table({
    name: 'Failed attempts by reason',
    columns: [
      {
        label: 'Reason',
        of: ({ reason }) => (reason === null ? 'other reasons' : html`<bdi>${formattedText(reason)}</bdi>`),
        text: true,
      },
      { label: 'Attempts', of: ({ attempts }) => printCount(attempts), number: true },
    ],
    rows,
    key: (row) => `error-${rows.indexOf(row)}`,
    empty: 'No attempt failed in this period.',
  })}</section>`;
}

import { html } from 'htm/preact';
import type { VNode } from 'preact';
import { countOf, printCount, printShare, printSpan } from '../../../platform/text/human-readable.ts';
import type { Overview, SinkOverview } from '../../contract/overview.ts';
import { sinkAddress, withQuery } from '../parts/addresses.ts';
import { chart } from '../parts/chart.ts';
import type { Content } from '../parts/content.ts';
import { countLink } from '../parts/count-link.ts';
import { formattedText } from '../parts/formatted-text.ts';
import type { AddPage } from '../parts/site.ts';
import { type Column, table } from '../parts/table.ts';
import { ago } from '../parts/time-element.ts';
import { sinkBadges, worstFirst } from '../sinks/sink-state.ts';
import { pollButton } from '../sources/poll-now.ts';
import { failureNote, nextPoll, sourceBadges } from '../sources/source-state.ts';
import { backupSection, exportSection } from './exports.ts';
import { machineSection } from './machines.ts';
import { problemList } from './overview-problems.ts';

/** Adds the overview, which shows every problem and whether leads are flowing. */
export const addOverview: AddPage = (app, site) => {
  app.get('/', { config: { operation: 'overview' } }, async (request, reply) => {
    const overview = await site.operations.overview();
    return site.show(request, reply, {
      title: 'Overview',
      name: 'Overview',
      ownHeading: true,
      live: body(overview),
      chart: true,
    });
  });
};

function body(overview: Overview): Content {
  const now = new Date(overview.at);
  return [
    html`<h1>${sentence(overview)}</h1>`,
    problemList(overview),
    html`<section><h2>Sinks</h2>${sinkTable(overview, now)}</section>`,
    html`<section><h2>Sources</h2>${sourceTable(overview, now)}</section>`,
    tiles(overview, now),
    html`<div class="pair">${leadsPerHour(overview)}${speedToLead(overview, now)}</div>`,
    exportSection(overview.exports, now),
    backupSection(overview.backups, now),
    machineSection(overview.machines, now),
    html`<p class="hint version">leadsync ${overview.version}</p>`,
  ];
}

/** Returns the overall state in one sentence. */
function sentence({ healthy: isHealthy, problems, sources, sinks }: Overview): string {
  const critical = problems.filter(({ severity }) => severity === 'critical').length;
  const others = problems.length - critical;
  const warnings = countOf(others, 'warning');
  if (critical > 0) return `${countOf(critical, 'critical problem')}${others > 0 ? ` and ${warnings}` : ''}.`;
  if (others > 0) return `Leads flow, with ${warnings}.`;
  if (!isHealthy) return 'There is a problem.';
  if (sources.every((source) => source.last_success_at === null))
    return 'No problems. No listing is complete yet.';
  const healthy = sinks.filter(({ state }) => state === 'healthy').length;
  return `No problems: leadsync polls ${countOf(sources.length, 'source')} and delivers to ${countOf(healthy, 'sink')}.`;
}

function tiles(overview: Overview, now: Date): VNode {
  const { sinks, sources } = overview;
  const pending = sinks.reduce((sum, { pending }) => sum + pending, 0);
  const dead = sinks.reduce((sum, sink) => sum + sink.dead, 0);
  const oldest = earliest(sinks.map((sink) => sink.oldest_owed_at));
  const day = overview.leads_per_hour.slice(-24).reduce((sum, { leads }) => sum + leads, 0);
  return html`<dl class="tiles">
    ${pollTile(sources, now)}
    ${tile('New leads, last 24 hours', printCount(day), html`<a href=${withQuery('/leads', { since: '24h' })}>See leads</a>`)}
    ${rateTile(overview.delivered_per_minute)}
    ${successTile(overview.attempts_last_hour)}
    ${tile('Pending now', countLink(withQuery('/deliveries', { state: 'pending' }), pending), oldest ? html`oldest owed ${ago(oldest, now)}` : 'none is pending')}
    ${tile('Dead now', countLink(withQuery('/deliveries', { state: 'dead' }), dead), dead > 0 ? 'given up, neither retried nor discarded' : 'none was given up', dead > 0)}
  </dl>`;
}

/** Returns how fast leads are delivered to all sinks, beside the rate of an hour ago. */
function rateTile({ now, hour_ago: before }: Overview['delivered_per_minute']): VNode {
  return tile('Delivered per minute', printRate(now), `an hour ago: ${printRate(before)}`);
}

type Attempts = Overview['attempts_last_hour'];

/** Returns the share of attempts of all sinks that delivered, beside the lowest share of a sink. */
function successTile(sinks: Attempts): VNode {
  const delivered = sinks.reduce((sum, one) => sum + one.delivered, 0);
  const all = sinks.reduce((sum, one) => sum + one.delivered + one.refused + one.unavailable, 0);
  if (all === 0) return tile('Success rate, last hour', '–', 'no attempt');
  const [lowest] = sinks.toSorted((one, other) => (one.success_rate ?? 1) - (other.success_rate ?? 1));
  const more =
    lowest !== undefined && (lowest.success_rate ?? 1) < 1
      ? html`lowest: <a href=${withQuery(sinkAddress(lowest.sink), { period: '1h' })}>${lowest.sink}</a> ${printShare(lowest.success_rate ?? 1)}`
      : `${printCount(delivered)} of ${countOf(all, 'attempt')}`;
  return tile('Success rate, last hour', printShare(delivered / all), more);
}

/** Returns a rate with one decimal, or without one from 10 on. */
function printRate(rate: number): string {
  return rate < 9.95 ? String(Math.round(rate * 10) / 10) : printCount(Math.round(rate));
}

/**
 * Returns the tile of the source in the worst state: the one whose polls fail, otherwise the one that was polled longest ago. The time of another
 * source would hide it. If there are several sources, the label names it.
 */
function pollTile(sources: Overview['sources'], now: Date): VNode {
  const [source] = sources.toSorted(
    (one, other) =>
      Number(isFailing(other)) - Number(isFailing(one)) || ageOrder(one.last_poll_at, other.last_poll_at),
  );
  const fails = source !== undefined && isFailing(source);
  const label = source && sources.length > 1 ? `Last poll of ${source.source}` : 'Last poll';
  const complete = source?.last_success_at;
  const more = complete ? html`its last complete listing ${ago(complete, now)}` : 'no complete listing yet';
  return tile(label, ago(source?.last_poll_at, now), fails ? html`failed; ${more}` : more, fails);
}

function isFailing({ failing_since: since }: Overview['sources'][number]): boolean {
  return since !== null;
}

/** Compares two times for sorting. A source that was never polled comes first. */
function ageOrder(one: string | null, other: string | null): number {
  return (one ?? '') < (other ?? '') ? -1 : (one ?? '') > (other ?? '') ? 1 : 0;
}

function tile(label: string, value: Content, more: Content, bad = false): VNode {
  return html`<div><dt>${label}</dt><dd class=${bad && 'dead'}>${value}<small>${more}</small></dd></div>`;
}

function leadsPerHour({ leads_per_hour: hours }: Overview): VNode {
  const points = hours.map(({ hour, leads }) => [Date.parse(hour) / 1000, leads]);
  const all = hours.reduce((sum, { leads }) => sum + leads, 0);
  const most = Math.max(0, ...hours.map(({ leads }) => leads));
  const summary = `${countOf(all, 'new lead')} in the last 48 hours, at most ${printCount(most)} per hour`;
  return html`<section>
    <h2>Leads per hour</h2>
    ${chart({
      id: 'chart',
      label: `New leads per hour: ${summary}`,
      kind: 'bars',
      unit: 'leads',
      stepSeconds: 3600,
      series: [{ name: 'new leads', tone: 'accent' }],
      points,
    })}
    <p class="hint">${summary}.</p>
  </section>`;
}

function speedToLead({ speed_to_lead: speeds, sinks }: Overview, now: Date): VNode {
  const slowness = (speed: Overview['speed_to_lead'][number]) => speed.seen_to_delivered_p95_seconds ?? -1;
  return html`<section id="speeds" class="folded">
    <h2>Speed to lead <small>last 24 hours, slowest first</small></h2>
    ${table({
      name: 'Speed to lead',
      columns: [
        ...speedColumns,
        { label: 'Pending', of: ({ sink }) => pendingAt(sinks, sink, now), number: true },
      ],
      rows: speeds.toSorted((one, other) => slowness(other) - slowness(one)),
      key: ({ sink }) => `speed-${sink}`,
      empty: 'No lead from the last 24 hours has been delivered yet.',
    })}
    ${speeds.length > UNFOLDED && html`<p class="unfold"><a class="button" href="#speeds">Show all ${countOf(speeds.length, 'sink')}</a></p>`}
    <details id="measured"><summary>What is measured</summary>
      <p class="hint">Time to delivery of the leads first seen in the last 24 hours, counted from when leadsync first saw them and from when they were created. Excludes backfills, and leads that already existed when leadsync first polled their source. Measures at most 1,000 leads, spread evenly over the day. A pending lead has no time yet and does not count. The column Pending shows all pending leads of the sink, and how long ago the oldest was owed.</p>
    </details>
  </section>`;
}

/** Number of rows that a phone shows of a folded table until the reader asks for all. The style sheet has the same number. */
const UNFOLDED = 3;

const speedColumns: readonly Column<Overview['speed_to_lead'][number]>[] = [
  { label: 'Sink', of: ({ sink }) => sink },
  { label: 'Measured', of: ({ leads }) => printCount(leads), number: true, wide: true },
  {
    label: 'From first seen',
    of: (speed) => percentiles(speed.seen_to_delivered_p50_seconds, speed.seen_to_delivered_p95_seconds),
    number: true,
  },
  {
    label: 'From created',
    of: (speed) =>
      percentiles(speed.created_to_delivered_p50_seconds, speed.created_to_delivered_p95_seconds),
    number: true,
  },
];

/** Returns the median and the 95th percentile, each on its own line, but in one line on a phone. */
function percentiles(p50: number | null, p95: number | null): Content {
  if (p50 === null || p95 === null) return html`<span class="none">–</span>`;
  return html`<span class="line">p50 ${printSpan(p50 * 1000)}</span> <span class="line">p95 ${printSpan(p95 * 1000)}</span>`;
}

/** Returns a sink's number of pending deliveries and the age of the oldest, because the percentiles cover only delivered leads. */
function pendingAt(sinks: readonly SinkOverview[], name: string, now: Date): Content {
  const sink = sinks.find((one) => one.sink === name);
  if (!sink || sink.pending === 0) return zero();
  const { pending, oldest_owed_at: oldest } = sink;
  return html`<a href=${withQuery('/deliveries', { sink: name, state: 'pending' })}>${printCount(pending)}</a>
    ${oldest && html`<small class="until">oldest ${ago(oldest, now)}</small>`}`;
}

function sinkTable(overview: Overview, now: Date): VNode {
  const attempts = (name: string) => overview.attempts_last_hour.find(({ sink }) => sink === name);
  return table({
    name: 'Sinks',
    compact: true,
    columns: [
      { label: 'Sink', of: ({ sink }) => html`<a href=${sinkAddress(sink)}>${sink}</a>` },
      {
        label: 'State',
        of: (sink) => [sinkBadges(sink), sink.reason && html` <small>${formattedText(sink.reason)}</small>`],
        text: true,
      },
      { label: 'Success, 1 h', of: ({ sink }) => successOf(attempts(sink)), number: true },
      { label: 'Pending', of: ({ pending }) => unlessZero(pending), number: true },
      { label: 'Oldest', of: (sink) => ago(sink.oldest_owed_at, now, '–'), number: true },
      { label: 'Retrying', of: ({ retrying }) => unlessZero(retrying), number: true },
      {
        label: 'Dead',
        of: ({ dead }) => html`<span class=${dead > 0 ? 'dead' : 'zero'}>${printCount(dead)}</span>`,
        number: true,
      },
      { label: 'Delivered, total', of: ({ delivered }) => printCount(delivered), number: true, wide: true },
      { label: 'Last delivered', of: (sink) => ago(sink.last_delivered_at, now), number: true, wide: true },
    ],
    rows: worstFirst(overview),
    key: ({ sink }) => `sink-${sink}`,
    empty: 'No sink is configured, so leads are recorded but not delivered.',
  });
}

/** Returns the share of a sink's attempts that delivered. A phone leaves out 100%, which says nothing there. */
function successOf(attempts: Attempts[number] | undefined): Content {
  const rate = attempts?.success_rate ?? null;
  if (rate === null) return html`<span class="none">–</span>`;
  return rate === 1 ? html`<span class="zero">${printShare(rate)}</span>` : printShare(rate);
}

/** Returns a count. A phone leaves out the cell of a 0, which says nothing there. */
function unlessZero(count: number): Content {
  return count === 0 ? zero() : printCount(count);
}

function zero(): VNode {
  return html`<span class="zero">0</span>`;
}

function sourceTable({ sources }: Overview, now: Date): VNode {
  return table({
    name: 'Sources',
    compact: true,
    columns: [
      { label: 'Source', of: ({ source }) => html`<a href=${withQuery('/polls', { source })}>${source}</a>` },
      {
        label: 'Last poll',
        of: (source) => [sourceBadges(source), failureNote(source, now)],
        text: true,
      },
      { label: 'Last polled', of: (source) => ago(source.last_poll_at, now), number: true },
      {
        label: 'Last complete',
        of: (source) => ago(source.last_success_at, now),
        number: true,
        wide: true,
      },
      { label: 'Next poll', of: (source) => nextPoll(source, now), number: true },
      { label: 'Listed', of: (source) => printCount(source.leads_listed), number: true, wide: true },
      { label: 'Leads known', of: ({ leads }) => printCount(leads), number: true, wide: true },
      {
        label: 'Rejected',
        of: ({ source, leads_rejected }) =>
          leads_rejected === 0
            ? zero()
            : countLink(withQuery('/rejected', { source, state: 'open' }), leads_rejected),
        number: true,
      },
      { label: 'Actions', of: ({ source }) => pollButton(source) },
    ],
    rows: sources,
    key: ({ source }) => `source-${source}`,
    empty: 'No source is configured.',
  });
}

function earliest(times: readonly (string | null)[]): string | undefined {
  return times
    .filter((time) => time !== null)
    .sort()
    .at(0);
}

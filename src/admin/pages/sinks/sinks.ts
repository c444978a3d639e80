import { html } from 'htm/preact';
import type { VNode } from 'preact';
import { printCount, printShare, printSpan } from '../../../platform/text/human-readable.ts';
import type { Overview, SinkOverview } from '../../contract/overview.ts';
import type { SinkRow } from '../../contract/sinks.ts';
import { sinkAddress, withQuery } from '../parts/addresses.ts';
import type { Content } from '../parts/content.ts';
import { countLink } from '../parts/count-link.ts';
import { formattedText } from '../parts/formatted-text.ts';
import { withLineBreaks } from '../parts/line-breaks.ts';
import { link } from '../parts/link.ts';
import { nextStepOf } from '../parts/next-step.ts';
import type { AddPage, Site } from '../parts/site.ts';
import { ago, moment } from '../parts/time-element.ts';
import { sinkBadges, sinkButtons, stateExplanation, worstFirst } from './sink-state.ts';

/** Adds the page that lists the sinks. */
export const addSinks: AddPage = (app, site) => {
  app.get('/sinks', { config: { operation: 'sinks' } }, async (request, reply) => {
    const [overview, rows] = await Promise.all([site.operations.overview(), site.operations.sinks()]);
    return site.show(request, reply, {
      title: 'Sinks',
      name: 'Sinks',
      live: body(overview, rows, site.rewriteCommands),
    });
  });
};

function body(
  overview: Overview,
  rows: readonly SinkRow[],
  rewriteCommands: Site['rewriteCommands'],
): Content {
  const now = new Date(overview.at);
  if (overview.sinks.length === 0)
    return html`<p class="empty">No sink is configured. Add one under <code>sinks:</code> in the configuration, then reload it.</p>`;
  return html`<div class="cards">${worstFirst(overview).map((sink) => card(sink, { now, row: rows.find((row) => row.sink === sink.sink), problems: overview.problems, rewriteCommands }))}</div>`;
}

interface CardParts extends Pick<Site, 'rewriteCommands'> {
  readonly now: Date;
  /** What only the list of sinks has; undefined if the sink was added since. */
  readonly row: SinkRow | undefined;
  readonly problems: Overview['problems'];
}

function card(sink: SinkOverview, { now, row, problems, rewriteCommands }: CardParts): VNode {
  const name = sink.sink;
  const dead = problems.find(({ code, about }) => code === 'deliveries_dead' && about === name);
  return html`<section class="card" id=${`sink-${name}`}>
    <h2><a href=${sinkAddress(name)}>${name}</a> <small>${sink.type}</small> ${sinkBadges(sink)}</h2>
    ${row?.address && html`<p class="hint"><bdi>${withLineBreaks(row.address)}</bdi></p>`}
    ${stateExplanation(sink, rewriteCommands)}
    ${dead && html`<p class="said">${formattedText(dead.message)} ${formattedText(nextStepOf(dead, sink.state !== 'orphaned'))} ${link(listOf(name, 'dead'), `See ${printCount(sink.dead)} dead`, name)}</p>`}
    <dl class="facts">
      ${fact('Pending', linked(sink, 'pending'))}
      ${fact('Retrying', printCount(sink.retrying))}
      ${sink.replays_pending > 0 && fact('Replays left', printCount(sink.replays_pending))}
      ${fact('Dead', linked(sink, 'dead'))}
      ${fact('Delivered', linked(sink, 'delivered'))}
      ${fact('Skipped', linked(sink, 'skipped'))}
      ${fact('Oldest owed', ago(sink.oldest_owed_at, now, '–'))}
      ${row && fact('Success, 1 h', rateOf(row.attempts_last_hour))}
      ${row && fact('Batch duration, p50', durationOf(row.attempts_last_hour))}
      ${fact('Last delivered', ago(sink.last_delivered_at, now))}
      ${sink.left_out_since_delivered > 0 && fact('Left out since then', printCount(sink.left_out_since_delivered))}
      ${sink.quota && fact('Daily limit', quotaText(sink.quota, now))}
      ${nextFact(sink)}
    </dl>
    <div class="actions">${sinkButtons(sink, 'list')}</div>
  </section>`;
}

/** Returns the time of the sink's next attempt; false if nothing is pending or leadsync does not try the sink. */
function nextFact({ state, pending, next_attempt_at: at }: SinkOverview): Content {
  if (at !== null) return fact(state === 'held' ? 'Next probe' : 'Next attempt', moment(at));
  return state === 'healthy' && pending > 0 && fact('Next attempt', 'with the next batch');
}

function fact(label: string, value: Content): VNode {
  return html`<div><dt>${label}</dt><dd>${value}</dd></div>`;
}

function rateOf({ success_rate: rate }: SinkRow['attempts_last_hour']): Content {
  return rate === null ? html`<span class="none">–</span>` : printShare(rate);
}

function durationOf({ duration_p50_ms: p50 }: SinkRow['attempts_last_hour']): Content {
  return p50 === null ? html`<span class="none">–</span>` : printSpan(p50);
}

function quotaText({ unit, used, limit, read_at }: NonNullable<SinkOverview['quota']>, now: Date): Content {
  return html`${printCount(used)} of ${printCount(limit)} ${unit} ${ago(read_at, now)}`;
}

function linked(sink: SinkOverview, state: 'pending' | 'dead' | 'delivered' | 'skipped'): Content {
  const address = listOf(sink.sink, state);
  if (state === 'dead' && sink.dead > 0)
    return html`<a href=${address} class="dead">${printCount(sink.dead)}</a>`;
  return countLink(address, sink[state]);
}

function listOf(sink: string, state: string): string {
  return withQuery('/deliveries', { sink, state });
}

import { html } from 'htm/preact';
import type { VNode } from 'preact';
import { printCount } from '../../../platform/text/human-readable.ts';
import type { SinkOverview } from '../../contract/overview.ts';
import { sinkAddress, withQuery } from '../parts/addresses.ts';
import type { Content } from '../parts/content.ts';
import type { AddPage, Site } from '../parts/site.ts';
import { ago, moment } from '../parts/time-element.ts';
import { sinkBadges, sinkButtons, stateExplanation, worstFirst } from './sink-state.ts';

/** Adds the page that lists the sinks. */
export const addSinks: AddPage = (app, site) => {
  app.get('/sinks', { config: { operation: 'sinks' } }, async (request, reply) => {
    const sinks = worstFirst(await site.operations.overview());
    return site.show(request, reply, {
      title: 'Sinks',
      name: 'Sinks',
      live: body(sinks, new Date(), site.rewriteCommands),
    });
  });
};

function body(sinks: readonly SinkOverview[], now: Date, rewriteCommands: Site['rewriteCommands']): Content {
  if (sinks.length === 0)
    return html`<p class="empty">No sink is configured. Add one under <code>sinks:</code> in the configuration, then reload it.</p>`;
  return html`<div class="cards">${sinks.map((sink) => card(sink, now, rewriteCommands))}</div>`;
}

function card(sink: SinkOverview, now: Date, rewriteCommands: Site['rewriteCommands']): VNode {
  const name = sink.sink;
  return html`<section class="card" id=${`sink-${name}`}>
    <h2><a href=${sinkAddress(name)}>${name}</a> <small>${sink.type}</small> ${sinkBadges(sink)}</h2>
    ${stateExplanation(sink, rewriteCommands)}
    <dl class="facts">
      ${fact('Pending', linked(sink, 'pending'))}
      ${fact('Retrying', printCount(sink.retrying))}
      ${sink.replays_pending > 0 && fact('Left of replays', printCount(sink.replays_pending))}
      ${fact('Dead', linked(sink, 'dead'))}
      ${fact('Delivered', linked(sink, 'delivered'))}
      ${fact('Skipped', linked(sink, 'skipped'))}
      ${fact('Oldest owed', ago(sink.oldest_owed_at, now, '–'))}
      ${fact('Last delivered', ago(sink.last_delivered_at, now))}
      ${sink.left_out_since_delivered > 0 && fact('Left out since then', printCount(sink.left_out_since_delivered))}
      ${sink.quota && fact('Daily limit', quotaText(sink.quota, now))}
      ${fact(sink.state === 'held' ? 'Next probe' : 'Next attempt', moment(sink.next_attempt_at))}
    </dl>
    <div class="actions">${sinkButtons(sink, 'list')}</div>
  </section>`;
}

function fact(label: string, value: Content): VNode {
  return html`<div><dt>${label}</dt><dd>${value}</dd></div>`;
}

function quotaText({ unit, used, limit, read_at }: NonNullable<SinkOverview['quota']>, now: Date): Content {
  return html`${printCount(used)} of ${printCount(limit)} ${unit} ${ago(read_at, now)}`;
}

function linked(sink: SinkOverview, state: 'pending' | 'dead' | 'delivered' | 'skipped'): Content {
  return html`<a href=${withQuery('/deliveries', { sink: sink.sink, state })}>${printCount(sink[state])}</a>`;
}

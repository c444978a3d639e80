import type { FastifyReply, FastifyRequest } from 'fastify';
import { html } from 'htm/preact';
import type { VNode } from 'preact';
import { countOf } from '../../../platform/text/human-readable.ts';
import { may } from '../../contract/rights.ts';
import { Period, type SinkDetail } from '../../contract/sinks.ts';
import { queryOf } from '../lists/filters.ts';
import { sinkAddress, withQuery } from '../parts/addresses.ts';
import type { Content } from '../parts/content.ts';
import { type AddPage, fieldsOf, paramOf, type Site } from '../parts/site.ts';
import { type Column, table } from '../parts/table.ts';
import { ago } from '../parts/time-element.ts';
import { AttemptChoice, recentTable } from './sink-attempts.ts';
import { backlogTable } from './sink-backlog.ts';
import { breakerFacts, holdTable } from './sink-breaker.ts';
import { reasonTable } from './sink-failure-reasons.ts';
import { beganToFailLately, DEFAULT_PERIOD, figures } from './sink-figures.ts';
import { chosenLead, hiddenRequest, shownRequest } from './sink-request.ts';
import { noSuchSink, sinkBadges, sinkButtons, stateExplanation, stepOfHold } from './sink-state.ts';

/** Adds the page of one sink: its circuit breaker, what it has done in a period, what it is owed, and its last attempts. */
export const addSink: AddPage = (app, site) => {
  app.get('/sinks/:sink', { config: { operation: 'sink' } }, (request, reply) => show(site, request, reply));
  app.post('/sinks/:sink/request', { config: { operation: 'previews' } }, async (request, reply) => {
    const name = chosenLead(fieldsOf(request).get('lead') ?? '');
    const previews = name && (await site.operations.previews(name.source, name.lead));
    if (!name || !previews)
      return site.fail(request, reply, {
        title: 'No such lead',
        what: 'The chosen lead is not in the ledger.',
        next: 'Choose one of the last attempts on the page of the sink.',
        status: name ? 404 : 400,
      });
    const content = await site.operations.reveal(name.source, name.lead);
    return show(site, request, reply, (detail) => shownRequest(detail, previews, content));
  });
};

async function show(
  site: Site,
  request: FastifyRequest,
  reply: FastifyReply,
  shown: (detail: SinkDetail) => VNode = hiddenRequest,
): Promise<FastifyReply> {
  const name = paramOf(request, 'sink');
  const asked = queryOf(request).get('period');
  const period = Period.safeParse(asked ?? DEFAULT_PERIOD);
  if (!period.success)
    return site.fail(request, reply, {
      title: 'No such period',
      what: `The period must be one of ${Period.options.join(', ')}.`,
      next: 'The page of the sink links to each.',
      status: 400,
    });
  const choice = AttemptChoice.catch({}).parse(Object.fromEntries(queryOf(request)));
  const found = await site.operations.sink(name, period.data);
  if (found === undefined) return noSuchSink(site, request, reply, name);
  const isNarrowed = asked === null && beganToFailLately(found);
  const sink = isNarrowed ? ((await site.operations.sink(name, '1h')) ?? found) : found;
  // Only the next step comes from the overview. If it cannot be read, the page still shows the sink.
  const overview = await site.operations.overview().catch(() => undefined);
  const step = stepOfHold(overview?.problems ?? [], name);
  return site.show(request, reply, {
    title: `Sink ${name}`,
    name: 'Sinks',
    about: name,
    ownHeading: true,
    live: body(sink, choice, [stateExplanation(sink, site.rewriteCommands), step]),
    still: [may('previews') && shown(sink), optionTable(sink)],
    address: withQuery(sinkAddress(name), { period: sink.period, ...choice }),
    chart: true,
  });
}

/** `state` is what the state of the sink means, and what to do about it. */
function body(sink: SinkDetail, choice: AttemptChoice, state: Content): Content {
  const now = new Date(sink.at);
  return [
    html`<div class="heading">
      <h1>${sink.sink} <small>${sink.type}</small></h1> ${sinkBadges(sink)}
      <div class="actions">${sinkButtons(sink, 'page')}</div>
    </div>`,
    state,
    sink.replays_pending > 0 &&
      html`<p class="said">${countOf(sink.replays_pending, 'replay delivery is', 'replay deliveries are')} left.</p>`,
    html`<p class="hint">${sink.last_delivered_at === null ? 'Nothing delivered yet' : ['Last delivered ', ago(sink.last_delivered_at, now)]}.</p>`,
    breakerFacts(sink),
    figures(sink, now),
    reasonTable(sink),
    recentTable(sink, choice),
    html`<div class="pair">${backlogTable(sink)}${holdTable(sink)}</div>`,
  ];
}

const ORIGIN: Column<SinkDetail['options'][number]> = {
  label: 'Origin',
  of: ({ origin }) => html`<span class="origin">${origin}</span>`,
  text: true,
};

/** Returns the options of a sink that are set, such as the address of its destination. */
function optionTable({ options }: SinkDetail): VNode {
  return html`<section><h2>Options <small>that are set; secrets are masked</small></h2>${table({
    name: 'Options of the sink that are set',
    columns: [
      { label: 'Option', of: ({ option }) => html`<code>${option}</code>` },
      { label: 'Value', of: ({ value }) => html`<code><bdi>${value}</bdi></code>`, text: true },
      // Paths of files and names of environment variables belong to the configuration, which only an admin may see.
      ...(may('configuration') ? [ORIGIN] : []),
    ],
    rows: options,
    key: ({ option }) => `option-${option}`,
    empty: 'The configuration in force does not have this sink.',
  })}</section>`;
}

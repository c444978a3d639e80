import type { FastifyReply, FastifyRequest } from 'fastify';
import { html } from 'htm/preact';
import type { VNode } from 'preact';
import { countOf } from '../../../platform/text/human-readable.ts';
import type { LeadDetail } from '../../contract/leads.ts';
import type { SinkOverview } from '../../contract/overview.ts';
import { may } from '../../contract/rights.ts';
import { attemptCount } from '../deliveries/attempt-count.ts';
import { answerButton, showAnswers } from '../deliveries/delivery-answers.ts';
import { retryOneAsk } from '../deliveries/retry.ts';
import { queryOf } from '../lists/filters.ts';
import { leadAddress, withQuery } from '../parts/addresses.ts';
import { badge } from '../parts/badge.ts';
import { confirmButton } from '../parts/confirmation.ts';
import type { Content } from '../parts/content.ts';
import { formattedText } from '../parts/formatted-text.ts';
import { IdempotentSubmit } from '../parts/idempotent-submit.ts';
import { hiddenContent, shownContent } from '../parts/lead-content.ts';
import { nextAttempt, waitReason } from '../parts/next-attempt.ts';
import { type AddPage, fieldsOf, paramOf, type Site } from '../parts/site.ts';
import { type Column, table } from '../parts/table.ts';
import { moment } from '../parts/time-element.ts';
import { deliverySummary } from './delivery-summary.ts';
import { hiddenPreviews, shownPreviews } from './lead-previews.ts';
import { timeline } from './lead-timeline.ts';

/** Adds the page of one lead: its history and its actions. */
export const addLead: AddPage = (app, site) => {
  app.get('/leads/:source/:lead', { config: { operation: 'lead' } }, (request, reply) =>
    show(site, request, reply, {}),
  );
  app.post('/leads/:source/:lead/data', { config: { operation: 'reveal' } }, async (request, reply) => {
    const { source, lead } = nameOf(request);
    const version = versionOf(request);
    const content = await site.operations.reveal(source, lead, version);
    if (content === undefined) return unknown(site, request, reply, version);
    return show(site, request, reply, { content: shownContent(content) });
  });
  app.post(
    '/leads/:source/:lead/answers',
    { config: { operation: 'reveal' } },
    async (request, reply) => (await showAnswers(site, request, reply)) ?? unknown(site, request, reply),
  );
  app.post('/leads/:source/:lead/previews', { config: { operation: 'previews' } }, async (request, reply) => {
    const { source, lead } = nameOf(request);
    const previews = await site.operations.previews(source, lead);
    if (previews === undefined) return unknown(site, request, reply);
    return show(site, request, reply, { previews: shownPreviews(previews) });
  });
  app.post('/leads/:source/:lead/retry', { config: { operation: 'retry' } }, (request, reply) =>
    retry(site, request, reply),
  );
  const once = new IdempotentSubmit<number>();
  app.post('/leads/:source/:lead/replay', { config: { operation: 'replay' } }, (request, reply) =>
    replay(site, once, request, reply),
  );
};

async function show(
  site: Site,
  request: FastifyRequest,
  reply: FastifyReply,
  { content, previews }: { readonly content?: VNode; readonly previews?: VNode },
): Promise<FastifyReply> {
  const { source, lead } = nameOf(request);
  const detail = ID.test(lead) ? await site.operations.lead(source, lead) : undefined;
  if (detail === undefined) return unknown(site, request, reply);
  return site.show(request, reply, {
    title: `Lead ${lead}`,
    name: 'Leads',
    live: body(detail, await site.operations.sinks(), new Date()),
    still: [
      may('reveal') && (content ?? hiddenContent(pathOf(request))),
      may('previews') && (previews ?? hiddenPreviews(source, lead)),
    ],
    address: leadAddress(source, lead),
  });
}

function body(detail: LeadDetail, sinks: readonly SinkOverview[], now: Date): Content {
  const { lead, deliveries } = detail;
  const summary = deliverySummary(deliveries);
  return [
    summary !== undefined && html`<p class="said">${summary}</p>`,
    html`<dl class="facts">
      <div><dt>Source</dt><dd>${lead.source}</dd></div>
      <div><dt>Service</dt><dd><bdi>${lead.service_slug ?? '–'}</bdi></dd></div>
      <div><dt>Created</dt><dd>${moment(lead.created_at)}</dd></div>
      <div><dt>First seen</dt><dd>${moment(lead.first_seen_at)}</dd></div>
      ${
        lead.gone_at &&
        html`<div><dt>Listed</dt><dd>not since ${moment(lead.gone_at)}; last at ${moment(lead.last_listed_at)}</dd></div>`
      }
      <div><dt>Version</dt><dd>${lead.version}${lead.version > 1 && html`, since ${moment(lead.changed_at)}`}</dd></div>
    </dl>`,
    html`<section><h2>Deliveries</h2>${table({
      name: 'Deliveries',
      columns: deliveryColumns(sinks, now),
      rows: undeliveredFirst(deliveries, sinks),
      key: ({ delivery_id }) => `delivery-${delivery_id}`,
      empty: 'There are no deliveries: no sink was configured when the lead was first seen.',
    })}</section>`,
    html`<section><h2>History</h2>${timeline(detail)}</section>`,
  ];
}

type Delivery = LeadDetail['deliveries'][number];

/** States of deliveries that come first, in this order. */
const FIRST_STATES: readonly string[] = ['dead', 'pending'];

/** Returns the deliveries in the order of their sinks, but dead ones first, and then those that are pending. Those of removed sinks come last. */
function undeliveredFirst(
  deliveries: readonly Delivery[],
  sinks: readonly SinkOverview[],
): readonly Delivery[] {
  const places = new Map(sinks.map(({ sink }, place) => [sink, place]));
  const place = ({ sink }: Delivery) => places.get(sink) ?? places.size;
  const rank = ({ state }: Delivery) => {
    const at = FIRST_STATES.indexOf(state);
    return at < 0 ? FIRST_STATES.length : at;
  };
  return deliveries.toSorted((one, other) => rank(one) - rank(other) || place(one) - place(other));
}

function deliveryColumns(sinks: readonly SinkOverview[], now: Date): readonly Column<Delivery>[] {
  return [
    { label: 'Sink', of: ({ sink }) => html`<a href=${withQuery('/deliveries', { sink })}>${sink}</a>` },
    { label: 'Event', of: (delivery) => html`<span class="nowrap">${eventOf(delivery)}</span>` },
    {
      label: 'State',
      of: (delivery) => [
        badge(delivery.state),
        html` <small><bdi>${delivery.reason && formattedText(delivery.reason)}</bdi> ${waitReason(delivery, sinks, now)}</small>`,
      ],
      text: true,
    },
    { label: 'Attempts', of: attemptCount, number: true },
    { label: 'Owed', of: (delivery) => moment(delivery.owed_at), number: true },
    { label: 'Settled or next', of: (delivery) => settledOrNext(delivery, sinks, now), number: true },
    { label: 'Actions', of: actions },
  ];
}

function eventOf({ event, lead_version, replay }: Delivery): string {
  return `${event}, version ${lead_version}${replay ? ', replay' : ''}`;
}

function settledOrNext(delivery: Delivery, sinks: readonly SinkOverview[], now: Date): Content {
  if (delivery.settled_at) return moment(delivery.settled_at);
  if (!delivery.next_attempt_at || waitReason(delivery, sinks, now)) return html`<span class="none">–</span>`;
  return nextAttempt(delivery, now);
}

function actions(delivery: Delivery): Content {
  const { source, lead_id, delivery_id, sink, state } = delivery;
  const address = leadAddress(source, lead_id);
  const retryable = state === 'dead' || state === 'pending';
  return html`<div class="actions">
    ${retryable && may('retry') && confirmButton(withQuery(`${address}/retry`, { delivery: delivery_id }), 'Retry…')}
    ${answerButton(delivery)}
    ${may('replay') && confirmButton(withQuery(`${address}/replay`, { sink }), 'Replay…')}
  </div>`;
}

async function retry(site: Site, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const { source, lead } = nameOf(request);
  const back = leadAddress(source, lead);
  const delivery = queryOf(request).get('delivery') ?? '';
  if (!fieldsOf(request).has('sure')) {
    const detail = ID.test(lead) ? await site.operations.lead(source, lead) : undefined;
    const sink = detail?.deliveries.find((one) => one.delivery_id === delivery)?.sink;
    const sinks = await site.operations.sinks();
    return site.confirm(request, reply, { ...retryOneAsk(lead, sink, sinks), back });
  }
  const count = await site.operations.retry({ delivery });
  if (count === 0)
    return site.done(reply, back, {
      kind: 'bad',
      text: 'Nothing was retried: the delivery is no longer dead or pending.',
    });
  return site.done(reply, back, {
    kind: 'good',
    text: 'The delivery is due now. Its attempts appear below.',
  });
}

async function replay(
  site: Site,
  once: IdempotentSubmit<number>,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { source, lead } = nameOf(request);
  const back = leadAddress(source, lead);
  const sink = queryOf(request).get('sink') ?? '';
  if (!fieldsOf(request).has('sure')) {
    const question = `Send lead ${lead} to ${sink} again?`;
    const consequences = 'The receiver gets it again, under a new idempotency key and marked as a replay.';
    return site.confirm(request, reply, {
      title: 'Replay',
      question,
      consequences,
      confirmLabel: 'Replay',
      fields: [once.field()],
      back,
    });
  }
  const count = await once.run(fieldsOf(request), () => site.operations.replay(sink, source, lead));
  if (count === 0)
    return site.done(reply, back, {
      kind: 'bad',
      text: `Nothing was replayed: the lead or the sink ${sink} is unknown.`,
    });
  return site.done(reply, back, {
    kind: 'good',
    text: `${countOf(count, 'delivery')} to ${sink} ${count === 1 ? 'was' : 'were'} added.`,
  });
}

/** Returns the number of the requested version; undefined for the current one. Returns 0, which no version has, if the text is not a number. */
function versionOf(request: FastifyRequest): number | undefined {
  const text = queryOf(request).get('version');
  if (text === null) return undefined;
  return /^\d{1,9}$/.test(text) ? Number(text) : 0;
}

function unknown(
  site: Site,
  request: FastifyRequest,
  reply: FastifyReply,
  version?: number,
): Promise<FastifyReply> {
  const { source, lead } = nameOf(request);
  if (version !== undefined)
    return site.fail(request, reply, {
      title: 'No such version',
      what: `Lead ${lead} of ${source} has no such version.`,
      next: 'The page of the lead lists its versions.',
      status: 404,
    });
  return site.fail(request, reply, {
    title: 'No such lead',
    what: `The ledger has no lead ${lead} of source ${source}.`,
    next: 'Search for the id under Leads, because another source may have it. A rejected lead has no page.',
    status: 404,
  });
}

/** A lead id. The largest one, 2^63 − 1, has 19 digits. */
const ID = /^\d{1,19}$/;

function nameOf(request: FastifyRequest): { source: string; lead: string } {
  return { source: paramOf(request, 'source'), lead: paramOf(request, 'lead') };
}

function pathOf(request: FastifyRequest): string {
  const { source, lead } = nameOf(request);
  return leadAddress(source, lead);
}

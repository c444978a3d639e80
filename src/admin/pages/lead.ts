import type { FastifyReply, FastifyRequest } from 'fastify';
import { html } from 'htm/preact';
import { countOf } from '../../platform/text/format.ts';
import type { LeadDetail, SinkOverview } from '../contract/model.ts';
import { hiddenContent, shownContent } from './lead-content.ts';
import { timeline } from './lead-timeline.ts';
import { leadAddress, withQuery } from './parts/addresses.ts';
import { badge } from './parts/badge.ts';
import { confirmButton } from './parts/confirmation.ts';
import type { Content } from './parts/content.ts';
import { queryOf } from './parts/filters.ts';
import { moment } from './parts/moment.ts';
import { nextAttempt, waitReason } from './parts/next-attempt.ts';
import { type AddPage, fieldsOf, paramOf, type Site } from './parts/site.ts';
import { type Column, table } from './parts/table.ts';

/** The page of one lead: what became of it, and what can be done about it. */
export const addLead: AddPage = (app, site) => {
  app.get('/leads/:source/:lead', (request, reply) =>
    show(site, request, reply, hiddenContent(pathOf(request))),
  );
  app.post('/leads/:source/:lead/data', async (request, reply) => {
    const { source, lead } = nameOf(request);
    const version = versionOf(request);
    const content = await site.operations.reveal(source, lead, version);
    if (content === undefined) return unknown(site, request, reply, version);
    return show(site, request, reply, shownContent(content));
  });
  app.post('/leads/:source/:lead/retry', (request, reply) => retry(site, request, reply));
  app.post('/leads/:source/:lead/replay', (request, reply) => replay(site, request, reply));
};

async function show(
  site: Site,
  request: FastifyRequest,
  reply: FastifyReply,
  content: Content,
): Promise<FastifyReply> {
  const { source, lead } = nameOf(request);
  const detail = ID.test(lead) ? await site.operations.lead(source, lead) : undefined;
  if (detail === undefined) return unknown(site, request, reply);
  return site.show(request, reply, {
    title: `Lead ${lead}`,
    name: 'Leads',
    live: body(detail, await site.operations.sinks(), new Date()),
    still: content,
    address: leadAddress(source, lead),
  });
}

function body(detail: LeadDetail, sinks: readonly SinkOverview[], now: Date): Content {
  const { lead, deliveries } = detail;
  return [
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
      rows: deliveries,
      key: ({ delivery_id }) => `delivery-${delivery_id}`,
      empty: 'This lead is owed to no sink: none was configured when it was first seen.',
    })}</section>`,
    html`<section><h2>What happened</h2>${timeline(detail)}</section>`,
  ];
}

type Delivery = LeadDetail['deliveries'][number];

function deliveryColumns(sinks: readonly SinkOverview[], now: Date): readonly Column<Delivery>[] {
  return [
    { label: 'Sink', of: ({ sink }) => html`<a href=${withQuery('/deliveries', { sink })}>${sink}</a>` },
    { label: 'For', of: forWhat },
    {
      label: 'State',
      of: (delivery) => [
        badge(delivery.state),
        html` <small><bdi>${delivery.reason}</bdi> ${waitReason(delivery, sinks, now)}</small>`,
      ],
    },
    { label: 'Attempts', of: ({ attempts }) => attempts, number: true },
    { label: 'Owed', of: (delivery) => moment(delivery.owed_at), number: true },
    { label: 'Settled or next', of: (delivery) => settledOrNext(delivery, sinks, now), number: true },
    { label: 'Actions', of: actions },
  ];
}

function forWhat({ event, lead_version, replay }: Delivery): string {
  return `${event}, version ${lead_version}${replay ? ', replay' : ''}`;
}

function settledOrNext(delivery: Delivery, sinks: readonly SinkOverview[], now: Date): Content {
  if (delivery.settled_at) return moment(delivery.settled_at);
  if (!delivery.next_attempt_at || waitReason(delivery, sinks, now)) return html`<span class="none">–</span>`;
  const next = nextAttempt(delivery, now);
  return typeof next === 'string' ? next : html`next ${next}`;
}

function actions({ source, lead_id, delivery_id, sink, state }: Delivery): Content {
  const address = leadAddress(source, lead_id);
  const retryable = state === 'dead' || state === 'pending';
  return html`<div class="actions">
    ${retryable && confirmButton(withQuery(`${address}/retry`, { delivery: delivery_id }), 'Retry…')}
    ${confirmButton(withQuery(`${address}/replay`, { sink }), 'Replay…')}
  </div>`;
}

async function retry(site: Site, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const { source, lead } = nameOf(request);
  const back = leadAddress(source, lead);
  const delivery = queryOf(request).get('delivery') ?? '';
  if (!fieldsOf(request).has('sure')) {
    const question = `Try this delivery of lead ${lead} again now?`;
    const consequences = 'It is due at once, with all its attempts before it, under the same id.';
    return site.confirm(request, reply, {
      title: 'Retry',
      question,
      consequences,
      confirmLabel: 'Retry',
      back,
    });
  }
  const count = await site.operations.retry({ delivery });
  if (count === 0)
    return site.done(reply, back, {
      kind: 'bad',
      text: 'Nothing was retried: this delivery is neither dead nor waiting any more.',
    });
  return site.done(reply, back, {
    kind: 'good',
    text: 'The delivery is due now. What comes of it shows below.',
  });
}

async function replay(site: Site, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const { source, lead } = nameOf(request);
  const back = leadAddress(source, lead);
  const sink = queryOf(request).get('sink') ?? '';
  if (!fieldsOf(request).has('sure')) {
    const question = `Send lead ${lead} to ${sink} once more?`;
    const consequences = 'The receiver gets it again, under a new id and marked as a replay.';
    return site.confirm(request, reply, {
      title: 'Replay',
      question,
      consequences,
      confirmLabel: 'Replay',
      back,
    });
  }
  const count = await site.operations.replay(sink, source, lead);
  if (count === 0)
    return site.done(reply, back, {
      kind: 'bad',
      text: `Nothing was replayed: leadsync knows no such lead, or no sink ${sink}.`,
    });
  return site.done(reply, back, {
    kind: 'good',
    text: `${countOf(count, 'delivery is', 'deliveries are')} owed to ${sink} once more.`,
  });
}

/** The version that is asked for; undefined: the present one. One that is no number is none that there is. */
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
      next: 'Its page lists those that there are.',
      status: 404,
    });
  return site.fail(request, reply, {
    title: 'No such lead',
    what: `Source ${source} has never listed a lead ${lead}.`,
    next: 'Look for the id under Leads: another source may have it. A lead that was set aside has never been listed whole.',
    status: 404,
  });
}

/** 2^63 has 19 digits. */
const ID = /^\d{1,19}$/;

function nameOf(request: FastifyRequest): { source: string; lead: string } {
  return { source: paramOf(request, 'source'), lead: paramOf(request, 'lead') };
}

function pathOf(request: FastifyRequest): string {
  const { source, lead } = nameOf(request);
  return leadAddress(source, lead);
}

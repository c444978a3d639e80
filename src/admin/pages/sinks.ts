import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { html } from 'htm/preact';
import type { VNode } from 'preact';
import { countOf, printCount, printSpan } from '../../platform/text/format.ts';
import type { SinkOverview } from '../contract/overview.ts';
import { sinkAction, withQuery } from './parts/addresses.ts';
import { badge } from './parts/badge.ts';
import type { Confirmation } from './parts/confirmation.ts';
import { confirmButton } from './parts/confirmation.ts';
import type { Content } from './parts/content.ts';
import { markup } from './parts/markup.ts';
import { ago, moment } from './parts/moment.ts';
import type { Notice } from './parts/notice.ts';
import { type AddPage, fieldsOf, paramOf, type Site } from './parts/site.ts';

/** Adds the page of sinks and their actions. */
export const addSinks: AddPage = (app, site) => {
  app.get('/sinks', async (request, reply) => {
    const sinks = await site.operations.sinks();
    return site.show(request, reply, {
      title: 'Sinks',
      name: 'Sinks',
      live: body(sinks, new Date(), site.rewriteCommands),
    });
  });
  for (const action of actions) addAction(app, site, action);
};

function body(sinks: readonly SinkOverview[], now: Date, rewriteCommands: Site['rewriteCommands']): Content {
  if (sinks.length === 0)
    return html`<p class="empty">No sink is configured. Add one under <code>sinks:</code> in the configuration, then reload it.</p>`;
  return html`<div class="cards">${sinks.map((sink) => card(sink, now, rewriteCommands))}</div>`;
}

function card(sink: SinkOverview, now: Date, rewriteCommands: Site['rewriteCommands']): VNode {
  const name = sink.sink;
  return html`<section class="card" id=${`sink-${name}`}>
    <h2>${name} <small>${sink.type}</small> ${badge(sink.state)}</h2>
    ${explanation(sink, rewriteCommands)}
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
    <div class="actions">${buttons(sink)}</div>
  </section>`;
}

/** Explains the state of a sink and what happens to its leads. */
function explanation(
  { state, reason, since }: SinkOverview,
  rewriteCommands: Site['rewriteCommands'],
): Content {
  const when = since && html` since ${moment(since)}`;
  const why = reason && html`: <bdi>${reason}</bdi>`;
  switch (state) {
    case 'healthy':
      return null;
    case 'held':
      return html`<p class="said">Held${when}${why} Its leads wait without using up attempts, and single probes test whether the destination works again.</p>`;
    case 'paused':
      return html`<p class="said">Paused${when}${why} Its leads wait until you resume it.</p>`;
    case 'disabled':
      return html`<p class="said">Disabled in the configuration. Its leads wait until you enable it.</p>`;
    case 'orphaned':
      return html`<p class="said">No longer in the configuration. Its pending deliveries are kept until you add it again, or until ${markup(rewriteCommands('`leadsync forget`'))} skips them.</p>`;
  }
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

function buttons(sink: SinkOverview): Content {
  if (sink.state === 'orphaned') return null;
  const { sink: name, state, dead, replays_pending } = sink;
  return [
    state === 'paused'
      ? confirmButton(sinkAction(name, 'resume'), 'Resume…', { primary: true })
      : confirmButton(sinkAction(name, 'pause'), 'Pause…'),
    state === 'held' && confirmButton(sinkAction(name, 'resume'), 'Try now…', { primary: true }),
    confirmButton(sinkAction(name, 'test'), 'Test…'),
    replays_pending > 0 && confirmButton(sinkAction(name, 'cancel-replay'), 'Cancel replay…'),
    dead > 0 && confirmButton(sinkAction(name, 'retry'), `Retry ${printCount(dead)} dead…`),
  ];
}

/** An action on a sink, with its confirmation. */
interface Action {
  readonly name: 'pause' | 'resume' | 'test' | 'retry' | 'cancel-replay';
  confirmation(sink: SinkOverview): Omit<Confirmation, 'back'>;
  /** Returns undefined if the sink is unknown. */
  act(site: Site, sink: string, fields: URLSearchParams): Promise<Notice | undefined>;
}

const MAX_REASON = 200;

const pause: Action = {
  name: 'pause',
  confirmation: ({ sink, pending }) => ({
    title: `Pause ${sink}`,
    question: `Pause ${sink}?`,
    consequences: `leadsync delivers nothing to it until you resume it, even after a restart. Its leads wait${pending > 0 ? `: ${printCount(pending)} now` : ''}.`,
    confirmLabel: 'Pause',
    form: html`<p class="field"><label for="reason">Reason (shown wherever the sink is shown)</label>
      <input id="reason" name="reason" required maxlength=${MAX_REASON} autocomplete="off" autofocus /></p>`,
  }),
  act: async (site, sink, fields) => {
    const reason = fields.get('reason')?.trim() ?? '';
    if (reason === '' || reason.length > MAX_REASON)
      return bad(`${sink} was not paused: enter a reason of at most ${MAX_REASON} characters.`);
    if (!(await site.operations.pause(sink, reason))) return undefined;
    return good(`${sink} is paused. Its leads wait until you resume it.`);
  },
};

const resume: Action = {
  name: 'resume',
  confirmation: ({ sink, state, pending }) => ({
    title: state === 'held' ? `Try ${sink} now` : `Resume ${sink}`,
    question: state === 'held' ? `Try ${sink} now?` : `Resume ${sink}?`,
    consequences:
      pending > 0
        ? `leadsync will deliver ${countOf(pending, 'pending lead')} to it immediately.`
        : 'It has no pending leads.',
    confirmLabel: state === 'held' ? 'Try now' : 'Resume',
  }),
  act: async (site, sink) => ((await site.operations.resume(sink)) ? good(`${sink} is resumed.`) : undefined),
};

const test: Action = {
  name: 'test',
  confirmation: ({ sink }) => ({
    title: `Test ${sink}`,
    question: `Send ${sink} a test event?`,
    consequences: 'The receiver gets one event that is marked as a test. No lead is sent.',
    confirmLabel: 'Send it',
  }),
  act: async (site, sink) => {
    const result = await site.operations.test(sink);
    if (result === undefined) return undefined;
    const took = printSpan(result.duration_ms);
    return result.arrived
      ? good(`${sink} accepted the test event in ${took}. ${result.what}`)
      : bad(`${sink} did not accept the test event (${took}). ${result.what}`);
  },
};

const retry: Action = {
  name: 'retry',
  confirmation: ({ sink, dead }) => {
    const title = `Retry dead deliveries of ${sink}`;
    if (dead === 0)
      return {
        title,
        question: 'There is nothing to retry',
        consequences: `${sink} has no dead deliveries.`,
      };
    const words = countOf(dead, 'dead delivery');
    return {
      title,
      question: `Retry ${words} of ${sink}?`,
      consequences:
        'They are due immediately. Their idempotency keys change only with the mapping. First fix the reasons for which they were given up.',
      confirmLabel: `Retry ${words}`,
    };
  },
  act: async (site, sink) => {
    const count = await site.operations.retry({ sink, state: 'dead' });
    if (count === 0) return bad(`Nothing was retried: ${sink} no longer has dead deliveries.`);
    return good(`${countOf(count, 'delivery')} of ${sink} ${count === 1 ? 'is' : 'are'} due now.`);
  },
};

const cancelReplay: Action = {
  name: 'cancel-replay',
  confirmation: ({ sink, replays_pending }) => {
    const title = `Cancel the replay to ${sink}`;
    if (replays_pending === 0)
      return {
        title,
        question: 'There is nothing to cancel',
        consequences: `No replay to ${sink} is under way.`,
      };
    const words = countOf(replays_pending, 'delivery');
    return {
      title,
      question: `Cancel what is left of replays to ${sink}: ${words}?`,
      consequences:
        'They are skipped. New and changed leads are not affected, what was sent stays sent, and what is being attempted is not interrupted. Deliveries without which the sink would miss a content that it was owed before the replay stay.',
      confirmLabel: `Cancel ${words}`,
    };
  },
  act: async (site, sink) => {
    const result = await site.operations.cancelReplays(sink);
    if (result === undefined) return undefined;
    const { cancelled, attempted, needed } = result;
    const left = attempted + needed;
    if (cancelled + left === 0) return bad(`Nothing was cancelled: no replay to ${sink} is under way.`);
    const stays =
      left === 0
        ? ''
        : ` ${countOf(left, 'delivery stays', 'deliveries stay')}: ${printCount(attempted)} being attempted, ${printCount(needed)} that the sink was owed anyway.`;
    return good(
      `${countOf(cancelled, 'delivery')} of replays to ${sink} ${cancelled === 1 ? 'is' : 'are'} cancelled.${stays}`,
    );
  },
};

const actions = [pause, resume, test, retry, cancelReplay] as const;

function addAction(app: FastifyInstance, site: Site, action: Action): void {
  app.post(`/sinks/:sink/${action.name}`, async (request, reply) => {
    const name = paramOf(request, 'sink');
    const fields = fieldsOf(request);
    if (fields.has('sure')) {
      const notice = await action.act(site, name, fields);
      return notice ? site.done(reply, '/sinks', notice) : unknown(site, request, reply, name);
    }
    const sink = (await site.operations.sinks()).find((one) => one.sink === name);
    if (sink === undefined) return unknown(site, request, reply, name);
    return site.confirm(request, reply, { ...action.confirmation(sink), back: '/sinks' });
  });
}

function unknown(site: Site, request: FastifyRequest, reply: FastifyReply, sink: string) {
  return site.fail(request, reply, {
    title: 'No such sink',
    what: `The configuration in force has no sink ${sink}.`,
    next: 'A reload may have removed or renamed it; see the page Sinks.',
    status: 404,
  });
}

function good(text: string): Notice {
  return { kind: 'good', text };
}

function bad(text: string): Notice {
  return { kind: 'bad', text };
}

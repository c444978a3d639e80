import type { FastifyInstance } from 'fastify';
import { html } from 'htm/preact';
import { countOf, printCount, printSpan } from '../../../platform/text/human-readable.ts';
import type { SinkOverview } from '../../contract/overview.ts';
import { queryOf } from '../lists/filters.ts';
import { originAddress } from '../parts/addresses.ts';
import type { Confirmation } from '../parts/confirmation.ts';
import type { Content } from '../parts/content.ts';
import type { Notice } from '../parts/notice.ts';
import { type AddPage, fieldsOf, paramOf, type Site } from '../parts/site.ts';
import { moment } from '../parts/time-element.ts';
import { noSuchSink } from './sink-state.ts';

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
    form: html`<p class="field"><label for="reason">Reason (shown together with the sink)</label>
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
  confirmation: (overview) => {
    const { sink, state, pending } = overview;
    if (state === 'held')
      return {
        title: `Try ${sink} now`,
        question: `Try ${sink} now?`,
        consequences: consequencesOfProbe(overview),
        confirmLabel: 'Try now',
      };
    return {
      title: `Resume ${sink}`,
      question: `Resume ${sink}?`,
      consequences: isHeld(overview)
        ? html`<p>It was held when it was paused, and still is.</p>${consequencesOfProbe(overview)}`
        : pending > 0
          ? `leadsync will deliver ${countOf(pending, 'pending lead')} to it immediately.`
          : 'It has no pending leads.',
      confirmLabel: 'Resume',
    };
  },
  act: async (site, sink) => {
    const before = (await site.operations.sinks()).find((one) => one.sink === sink);
    if (!(await site.operations.resume(sink))) return undefined;
    if (!before || !isHeld(before)) return good(`${sink} is resumed.`);
    const held = before.state === 'paused' ? `${sink} is resumed and still held. ` : '';
    return good(`${held}The next probe of ${sink} is due now. Its result decides whether the hold ends.`);
  },
};

/** Whether the circuit breaker of a sink is open, even while the sink is paused. */
function isHeld({ breaker }: SinkOverview): boolean {
  return breaker !== null && breaker.failed_probes !== null;
}

/** Returns paragraphs on what happens if the next probe of a held sink is due now. */
function consequencesOfProbe({ pending, state, next_attempt_at: probeAt }: SinkOverview): Content {
  const others = pending - 1;
  const sent =
    pending === 0
      ? 'It has no pending leads; the next lead is sent as the probe.'
      : `leadsync sends the next probe, a single batch, immediately.${others > 0 ? ' All other leads wait for its result.' : ''}`;
  return html`<p>${sent}</p>
    <p>If the destination works again, the hold ends, and leadsync delivers what waits: a few batches at a time at first, then more.
      If it is still unavailable, the sink stays held, and the failed probe uses up no attempt.</p>
    ${state === 'held' && probeAt !== null && html`<p>Without this, leadsync sends the next probe at ${moment(probeAt)}.</p>`}`;
}

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
        'They are due immediately. Their idempotency keys stay the same unless the mapping has changed. First fix the cause for which they were given up.',
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
      question: `Cancel the rest of the replays to ${sink}: ${words}?`,
      consequences:
        'They are skipped. New and changed leads are not affected, what was sent stays sent, and attempts in progress are not interrupted. A delivery stays if the sink would otherwise miss a lead version.',
      confirmLabel: `Cancel ${words}`,
      dismissLabel: 'Keep them',
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
      `${countOf(cancelled, 'replay delivery')} to ${sink} ${cancelled === 1 ? 'is' : 'are'} cancelled.${stays}`,
    );
  },
};

const actions = [pause, resume, test, retry, cancelReplay] as const;

/** Adds the actions on sinks. */
export const addSinkActions: AddPage = (app, site) => {
  for (const action of actions) addAction(app, site, action);
};

function addAction(app: FastifyInstance, site: Site, action: Action): void {
  const operation = action.name === 'cancel-replay' ? 'cancelReplays' : action.name;
  app.post(`/sinks/:sink/${action.name}`, { config: { operation } }, async (request, reply) => {
    const name = paramOf(request, 'sink');
    const fields = fieldsOf(request);
    const back = originAddress(name, queryOf(request).get('from'));
    if (fields.has('sure')) {
      const notice = await action.act(site, name, fields);
      return notice ? site.done(reply, back, notice) : noSuchSink(site, request, reply, name);
    }
    const sink = (await site.operations.sinks()).find((one) => one.sink === name);
    if (sink === undefined) return noSuchSink(site, request, reply, name);
    return site.confirm(request, reply, { ...action.confirmation(sink), back });
  });
}

function good(text: string): Notice {
  return { kind: 'good', text };
}

function bad(text: string): Notice {
  return { kind: 'bad', text };
}

import { html } from 'htm/preact';
import type { DeliveryRow } from '../../contract/deliveries.ts';
import type { SinkOverview } from '../../contract/overview.ts';
import type { Content } from './content.ts';
import { moment } from './time-element.ts';

type Waiting = Pick<DeliveryRow, 'sink' | 'next_attempt_at' | 'waits_for_batch_until'>;

type Sink = Pick<SinkOverview, 'sink' | 'state' | 'next_attempt_at'>;

/**
 * Returns why a due delivery still waits, in words: for its sink, with the time of the next probe, or because its batch is not full yet. Returns
 * undefined if it waits for neither or is not due.
 */
export function waitReason(
  { sink: name, next_attempt_at, waits_for_batch_until: until }: Waiting,
  sinks: readonly Sink[],
  now: Date,
): Content {
  const sink = sinks.find((one) => one.sink === name);
  if (sink && sink.state !== 'healthy' && isDue(next_attempt_at, now)) {
    const probe = sink.state === 'held' ? sink.next_attempt_at : null;
    return html`<span>waits: sink is ${sink.state}${probe && html` <small class="until">next probe ${moment(probe)}</small>`}</span>`;
  }
  if (until === null) return undefined;
  return html`<span>waits for its batch <small class="until">until ${moment(until)} at the latest</small></span>`;
}

/** Returns when a pending delivery is attempted next, in words: `due now`, `next …` or, if the attempt is the next probe of one of the sinks, `probe at …`. */
export function nextAttempt(
  { sink, next_attempt_at: at }: Waiting,
  now: Date,
  sinks: readonly Sink[] = [],
): Content {
  if (at === null) return moment(at);
  if (isDue(at, now)) return 'due now';
  const isProbe = sinks.some(
    (one) => one.sink === sink && one.state === 'held' && one.next_attempt_at === at,
  );
  return html`${isProbe ? 'probe at' : 'next'} ${moment(at)}`;
}

function isDue(at: string | null, now: Date): boolean {
  return at !== null && Date.parse(at) <= now.getTime();
}

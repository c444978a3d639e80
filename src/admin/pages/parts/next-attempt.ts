import { html } from 'htm/preact';
import type { DeliveryRow } from '../../contract/deliveries.ts';
import type { SinkOverview } from '../../contract/overview.ts';
import type { Content } from './content.ts';
import { moment } from './time-element.ts';

type Waiting = Pick<DeliveryRow, 'sink' | 'next_attempt_at' | 'waits_for_batch_until'>;

/**
 * Returns why a due delivery still waits: because of the state of its sink, with the time of the next probe, or because its batch is not full yet.
 * Returns undefined if it waits for neither or is not due.
 */
export function waitReason(
  { sink: name, next_attempt_at, waits_for_batch_until: until }: Waiting,
  sinks: readonly Pick<SinkOverview, 'sink' | 'state' | 'next_attempt_at'>[],
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

/** Returns when the next attempt of a delivery is due. */
export function nextAttempt({ next_attempt_at }: Waiting, now: Date): Content {
  return isDue(next_attempt_at, now) ? 'due now' : moment(next_attempt_at);
}

function isDue(at: string | null, now: Date): boolean {
  return at !== null && Date.parse(at) <= now.getTime();
}

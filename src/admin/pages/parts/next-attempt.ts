import type { DeliveryRow, SinkOverview } from '../../contract/model.ts';
import type { Content } from './content.ts';
import { moment } from './moment.ts';

type Waiting = Pick<DeliveryRow, 'sink' | 'next_attempt_at'>;

/** Why a delivery that is due waits all the same: while its sink takes nothing, it goes nowhere. Undefined when that is not so. */
export function waitReason(
  { sink: name, next_attempt_at }: Waiting,
  sinks: readonly Pick<SinkOverview, 'sink' | 'state'>[],
  now: Date,
): string | undefined {
  const sink = sinks.find((one) => one.sink === name);
  if (!sink || sink.state === 'healthy' || !isDue(next_attempt_at, now)) return undefined;
  return `waits: its sink is ${sink.state}`;
}

/** When a delivery is attempted next, as far as its sink takes anything. */
export function nextAttempt({ next_attempt_at }: Waiting, now: Date): Content {
  return isDue(next_attempt_at, now) ? 'due now' : moment(next_attempt_at);
}

function isDue(at: string | null, now: Date): boolean {
  return at !== null && Date.parse(at) <= now.getTime();
}

import { HELD_BACK } from '../../leads/sink-health.ts';
import type { DeliveryRow, SinkOverview } from '../model.ts';
import type { Content } from './content.ts';
import { moment } from './moment.ts';

type Waiting = Pick<DeliveryRow, 'sink' | 'next_attempt_at'>;

const WAITS: Readonly<Partial<Record<SinkOverview['state'], string>>> = HELD_BACK;

/** What a delivery that is due waits for; undefined when it waits for nothing, or is not due. */
export function waitsFor(
  { sink: name, next_attempt_at }: Waiting,
  sinks: readonly Pick<SinkOverview, 'sink' | 'state'>[],
  now: Date,
): string | undefined {
  const sink = sinks.find((one) => one.sink === name);
  return isDue(next_attempt_at, now) && sink ? WAITS[sink.state] : undefined;
}

/** When a delivery is attempted next, as far as its sink takes anything. */
export function nextAttempt({ next_attempt_at }: Waiting, now: Date): Content {
  return isDue(next_attempt_at, now) ? 'due now' : moment(next_attempt_at);
}

function isDue(at: string | null, now: Date): boolean {
  return at !== null && Date.parse(at) <= now.getTime();
}

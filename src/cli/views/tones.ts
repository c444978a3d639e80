import type { SinkState, SinkView } from '../../status/status-view.ts';
import type { Paint, Tone } from '../shell/colour.ts';

/** The tones of the states of a sink. The other states have no colour. */
const SINK_TONES: Readonly<Partial<Record<SinkState, Tone>>> = {
  held: 'bad',
  paused: 'warning',
  retrying: 'warning',
  orphaned: 'warning',
};

/** Returns the state of a sink for a table, in colour. A sink that works but has dead deliveries is not shown as healthy. */
export function sinkStateCell({ state, status }: Pick<SinkView, 'state' | 'status'>, paint: Paint): string {
  if (state === 'healthy' && status?.dead) return paint('bad', 'has dead');
  return paint(SINK_TONES[state], state);
}

const EVENT_TONES: Readonly<Record<string, Tone>> = {
  dead: 'bad',
  refused: 'bad',
  held: 'bad',
  unavailable: 'warning',
  rejected: 'warning',
  paused: 'warning',
};

/** Returns the tone of an event in the history of a lead or a sink, such as `refused`; undefined for an event without a colour. */
export function eventTone(what: string): Tone | undefined {
  return Object.hasOwn(EVENT_TONES, what) ? EVENT_TONES[what] : undefined;
}

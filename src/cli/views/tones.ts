import type { SinkState } from '../../status/status-view.ts';
import type { Tone } from '../shell/colour.ts';

/** The tones of the states of a sink. The other states have no colour. */
export const SINK_TONES: Readonly<Partial<Record<SinkState, Tone>>> = {
  held: 'bad',
  paused: 'warning',
  retrying: 'warning',
  orphaned: 'warning',
};

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

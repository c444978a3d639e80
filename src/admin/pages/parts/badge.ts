import { html } from 'htm/preact';
import type { VNode } from 'preact';

type Tone = 'good' | 'calm' | 'warning' | 'bad';

/** Tone of each state of sinks, sources, exports, deliveries, polls, attempts and previews, and of each level of the log. Others are calm. */
const TONES: Readonly<Record<string, Tone>> = {
  healthy: 'good',
  works: 'good',
  missing: 'bad',
  failing: 'warning',
  held: 'bad',
  paused: 'warning',
  orphaned: 'warning',
  stuck: 'bad',
  retrying: 'warning',
  behind: 'warning',
  slow: 'warning',
  silent: 'warning',
  delivered: 'good',
  dead: 'bad',
  success: 'good',
  made: 'good',
  partial: 'warning',
  failed: 'bad',
  refused: 'bad',
  unavailable: 'warning',
  late: 'bad',
  active: 'bad',
  ending: 'warning',
  shrunk: 'warning',
  rejected: 'warning',
  removed: 'warning',
  'never polled': 'warning',
  warn: 'warning',
  error: 'bad',
  'has the lead': 'good',
  'gets the lead': 'good',
  'does not get the lead': 'warning',
};

/** Returns a state as a coloured label. The text, by default the state, conveys the meaning even without the colour. */
export function badge(state: string, text = state): VNode {
  return html`<span class=${`badge ${TONES[state] ?? 'calm'}`}>${text}</span>`;
}

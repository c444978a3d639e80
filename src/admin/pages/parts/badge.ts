import { html } from 'htm/preact';
import type { VNode } from 'preact';

type Mood = 'good' | 'calm' | 'warning' | 'bad';

/** How each state is to be taken: sinks', exports', deliveries', polls' and attempts'. A word that is not here is calm. */
const MOODS: Readonly<Record<string, Mood>> = {
  healthy: 'good',
  held: 'bad',
  paused: 'warning',
  orphaned: 'warning',
  delivered: 'good',
  dead: 'bad',
  success: 'good',
  made: 'good',
  partial: 'warning',
  failed: 'bad',
  refused: 'bad',
  unavailable: 'warning',
};

/** A state as a word with a colour; the word is enough. */
export function badge(state: string): VNode {
  return html`<span class=${`badge ${MOODS[state] ?? 'calm'}`}>${state}</span>`;
}

import { html } from 'htm/preact';
import type { Content } from './content.ts';

/** A text of leadsync's own, in which what is to be typed stands between backticks. */
export function marked(text: string): Content {
  return text.split(/`([^`]+)`/).map((part, at) => (at % 2 === 1 ? html`<code>${part}</code>` : part));
}

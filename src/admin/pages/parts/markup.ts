import { html } from 'htm/preact';
import { breakable } from './breakable.ts';
import type { Content } from './content.ts';
import { moment } from './time-element.ts';

/** Renders text that leadsync wrote: text between backticks as code, and ISO times in the reader's time zone. */
export function markup(text: string): Content {
  return text.split(MARKS).map((part) => {
    if (part.length > 2 && part.startsWith('`') && part.endsWith('`'))
      return html`<code>${breakable(part.slice(1, -1))}</code>`;
    return TIME.test(part) && !Number.isNaN(Date.parse(part)) ? moment(part) : breakable(part);
  });
}

const MARKS = /(`[^`]+`|\d{4}-\d\d-\d\dT[\d:.]+Z)/;
const TIME = /^\d{4}-\d\d-\d\dT[\d:.]+Z$/;

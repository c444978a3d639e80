import { html } from 'htm/preact';
import type { Content } from './content.ts';
import { withLineBreaks } from './line-breaks.ts';
import { moment } from './time-element.ts';

/** Renders text that leadsync wrote: text between backticks as code, and ISO times in the reader's time zone. */
export function formattedText(text: string): Content {
  return text.split(MARKS).map((part) => {
    if (part.length > 2 && part.startsWith('`') && part.endsWith('`'))
      return html`<code>${withWholeOptions(part.slice(1, -1))}</code>`;
    return TIME.test(part) && !Number.isNaN(Date.parse(part)) ? moment(part) : withLineBreaks(part);
  });
}

/** Returns a command in which a line never breaks within an option, such as `--sink`. */
function withWholeOptions(command: string): Content {
  return command
    .split(OPTION)
    .map((part, index) =>
      index % 2 === 1 ? html`<span class="whole-word">${part}</span>` : withLineBreaks(part),
    );
}

const OPTION = /(?<=^|\s)(--?[\w-]*)(?=\s|$)/;
const MARKS = /(`[^`]+`|\d{4}-\d\d-\d\dT[\d:.]+Z)/;
const TIME = /^\d{4}-\d\d-\d\dT[\d:.]+Z$/;

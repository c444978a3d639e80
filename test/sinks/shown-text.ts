/** Line breaks aside, the characters that messages to people show as escapes: control characters, changes of direction, the byte-order mark. */
const SHOWN_AS_ESCAPES = /(?![\t\n])[\p{Cc}\p{Bidi_Control}\ufeff]/gu;

/** What the documentation of messages to people says becomes of a text: line breaks are line feeds, and characters that mislead are escapes. */
export function shownText(text: string): string {
  return text
    .toWellFormed()
    .replace(/\r\n|[\r\u2028\u2029]/g, '\n')
    .replace(SHOWN_AS_ESCAPES, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** What becomes of an answer in a message to Slack: a long one is cut. */
export function shownAnswer(text: string): string {
  const shown = shownText(text);
  return shown.length > 1_000 ? `${shown.slice(0, 999)}…` : shown;
}

/** Escapes of Slack's control characters, which start links and mentions (https://docs.slack.dev/messaging/formatting-message-text). */
const ESCAPES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };

/**
 * Escapes the text so that Slack finds no link and no mention in it. If the escaped text is longer than `max` characters, replaces its end with an
 * ellipsis.
 */
export function slackEscape(text: string, max = Number.POSITIVE_INFINITY): string {
  const whole = text.replace(/[&<>]/g, (character) => ESCAPES[character] ?? '');
  if (whole.length <= max) return whole;
  // Neither half an escape nor half a surrogate pair at the end.
  const cut = whole.slice(0, max - 1).replace(/&[a-z]{0,3}$|[\ud800-\udbff]$/, '');
  return `${cut}…`;
}

import type { Delivery } from '../../leads/delivery.ts';
import { slackEscape } from '../../platform/text/slack-escape.ts';
import { type LeadMessage, printLine } from '../lead-message.ts';

/** A lead with what its message says. */
export interface Entry {
  readonly delivery: Delivery;
  readonly message: LeadMessage;
  /** Whether an earlier message about the lead may have arrived, and leadsync cannot find out. */
  readonly mayRepeat: boolean;
}

/** What Slack gets, besides the channel. */
export interface Payload {
  readonly text: string;
  readonly blocks: readonly object[];
  readonly [option: string]: unknown;
}

/** Slack's limits (https://docs.slack.dev/reference/block-kit/blocks): characters of a section and of a header. */
const MAX_SECTION = 3_000;
const MAX_HEADER = 150;
/** Maximum number of characters in the text for notifications and screen readers. Slack recommends up to 4,000. */
const MAX_TEXT = 3_000;
/** Maximum number of characters in one value, so that a long answer does not hide the lines after it. */
const MAX_VALUE = 1_000;
/** Maximum number of leads in a message: Slack allows 50 blocks, of which the header needs one and each lead two. */
const MAX_LEADS = 24;
/** Maximum number of characters in all sections. Slack refuses messages whose blocks are too long, and does not document the limit. */
const MAX_SECTIONS = 12_000;

/** Divides leads into messages that are within Slack's limits, in order. */
export function messagesOf<Item extends Entry>(entries: readonly Item[]): readonly (readonly Item[])[] {
  const messages: Item[][] = [];
  let length = 0;
  for (const entry of entries) {
    const own = sectionOf(entry, 'in a digest').length;
    const last = messages.at(-1);
    if (last && last.length < MAX_LEADS && length + own <= MAX_SECTIONS) {
      last.push(entry);
      length += own;
    } else {
      messages.push([entry]);
      length = own;
    }
  }
  return messages;
}

/** Returns one message about leads: their lines, and a link to the page of each. Nothing in a lead is read as markup or as a mention. */
export function payloadOf(entries: readonly Entry[]): Payload {
  const [first, ...others] = entries;
  if (!first) throw new Error('a message is about at least one lead');
  const form = others.length === 0 ? 'alone' : 'in a digest';
  const title = others.length === 0 ? first.message.title : `${entries.length} leads`;
  const sections = entries.map((entry) => sectionOf(entry, form));
  return {
    text: slackEscape([title, ...entries.map((entry) => textOf(entry, form))].join('\n'), MAX_TEXT),
    blocks: [
      { type: 'header', text: plainText(slackEscape(title, MAX_HEADER)) },
      ...entries.flatMap((entry, index) => [
        ...(sections[index] ? [{ type: 'section', text: plainText(sections[index]) }] : []),
        { type: 'context', elements: [{ type: 'mrkdwn', text: footerOf(entry) }] },
      ]),
    ],
    mrkdwn: false,
    parse: 'none',
    link_names: false,
    // Slack would otherwise request every address that a stranger types.
    unfurl_links: false,
    unfurl_media: false,
  };
}

function textOf({ message }: Entry, form: 'alone' | 'in a digest'): string {
  const lines = message.lines.map((line) => printLine(line, MAX_VALUE));
  return (form === 'alone' ? lines : [message.title, ...lines]).join('\n');
}

function sectionOf(entry: Entry, form: 'alone' | 'in a digest'): string {
  return slackEscape(textOf(entry, form), MAX_SECTION);
}

/** Returns the link to the lead's page, and the key by which a person recognises a message that arrived twice. */
function footerOf({ message: { key, url }, mayRepeat }: Entry): string {
  const link = url === undefined ? [] : [`<${slackEscape(url)}|Open the lead>`];
  const repeat = mayRepeat ? ['possibly sent before'] : [];
  return [...link, slackEscape(key), ...repeat].join(' · ');
}

function plainText(text: string) {
  return { type: 'plain_text', text, emoji: false } as const;
}

import { z } from 'zod';
import { webhookOptions } from '../sinks/webhook/options.ts';
import { defineDestination } from './destination.ts';
import { type Message, subjectOf, textOf } from './notice.ts';
import { postJson, reachServer } from './post.ts';

/** Notices as text to an incoming webhook of Slack, or of what speaks like it (Mattermost, Rocket.Chat). */
export const slack = defineDestination({
  type: 'slack',
  summary:
    'Posts notices to an incoming webhook of Slack, or of what takes the same (Mattermost, Rocket.Chat).',
  options: z.strictObject({
    url: webhookOptions.shape.url.describe(
      "The incoming webhook's address: a secret. Only its scheme, host and port are ever shown.",
    ),
  }),
  open: ({ url }) => {
    const target = new URL(url.reveal());
    return {
      send: (message, signal) => postJson(target, bodyOf(message), {}, signal),
      check: (signal) => reachServer(target, signal),
    };
  },
});

/** https://docs.slack.dev/messaging/formatting-message-text: these three would begin a link or a mention. */
const ESCAPES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };

function bodyOf(message: Message): string {
  const text = `*${subjectOf(message)}*\n${textOf(message)}`;
  return JSON.stringify({ text: text.replace(/[&<>]/g, (character) => ESCAPES[character] ?? '') });
}

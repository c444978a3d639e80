import { z } from 'zod';
import { builtOnce } from '../platform/options/built-once.ts';
import { slackEscape } from '../platform/text/slack-escape.ts';
import { webhookOptions } from '../sinks/webhook/options.ts';
import { defineDestination } from './destination.ts';
import { type Message, subjectOf, textOf } from './notice.ts';
import { postJson, reachServer } from './post-json.ts';

const options = builtOnce(() =>
  z.strictObject({
    url: webhookOptions().shape.url.describe(
      'URL of the incoming webhook. It is a secret: leadsync shows only its scheme, host and port.',
    ),
  }),
);

/** Posts notices as text to an incoming webhook of Slack or a compatible service (Mattermost, Rocket.Chat). */
export const slack = defineDestination({
  type: 'slack',
  summary: 'Posts notices to an incoming webhook of Slack or a compatible service (Mattermost, Rocket.Chat).',
  get options() {
    return options();
  },
  open: ({ url }) => {
    const target = new URL(url.reveal());
    return {
      send: (message, signal) => postJson(target, bodyOf(message), {}, signal),
      check: (signal) => reachServer(target, signal),
    };
  },
});

function bodyOf(message: Message): string {
  const text = `*${subjectOf(message)}*\n${textOf(message)}`;
  return JSON.stringify({ text: slackEscape(text) });
}

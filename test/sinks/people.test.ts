import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { parseConfig } from '../../src/config/load-config.ts';
import { sinkTypes } from '../../src/sinks/registry.ts';
import { faultsOf, SOURCE } from '../config/reading.ts';

const page = readFileSync(new URL('../../docs/people.md', import.meta.url), 'utf8');
const blocks = [...page.matchAll(/```yaml\n(.*?)```/gs)].map(({ index, 1: text = '' }) => ({
  heading: [...page.slice(0, index).matchAll(/^#+ (.*)$/gm)].at(-1)?.[1] ?? '',
  text,
}));
const env = {
  SLACK_BOT_TOKEN: 'xoxb-1',
  SLACK_WEBHOOK_URL: 'https://hooks.slack.com/services/T1/B1/s',
  SMTP_URL: 'smtp://user:password@mail.example.com:587',
};
const shared = blocks.filter(({ text }) => !text.startsWith('type:')).map(({ text }) => text);

describe('docs/people.md', () => {
  const sinks = blocks.filter(({ text }) => text.startsWith('type:'));

  test('has four recipes with tests', () => {
    expect(sinks.filter(({ text }) => 'tests' in (parse(text) as object))).toHaveLength(4);
  });

  test.each(sinks.map(({ heading, text }) => [heading, text] as const))(
    '%s: valid, and its tests pass',
    (_, text) => {
      const sources = {
        main: { base_url: 'https://leads.example.com', client_id: 'id', client_secret: 's' },
      };
      const written = `${stringify({ sources })}${shared.join('')}sinks:\n  one:\n${text.replace(/^(?=.)/gm, '    ')}`;
      const config = parseConfig(written, 'f', { sinkTypes, env });
      expect(config.sinks).toHaveLength(1);
      expect(config.publicUrl).toBe('https://leadsync.example.com');
    },
  );
});

describe('a fault of a sink that writes to people is reported with the next step', () => {
  const sink = (...lines: string[]) =>
    `${SOURCE}sinks:\n  p:\n${lines.map((line) => `    ${line}\n`).join('')}`;

  test.each<[string, string[], string]>([
    [
      'neither token nor url',
      ['type: slack'],
      '7:3: sinks.p: "token" is missing; add the bot token of a Slack app, or `url` with the URL of an incoming webhook',
    ],
    [
      'both',
      ['type: slack', 'token: xoxb-1', 'url: https://hooks.slack.com/x', 'channel: { value: C0123456789 }'],
      '10:5: sinks.p: `token` and `url` exclude each other; remove one of them',
    ],
    [
      'no channel',
      ['type: slack', 'token: xoxb-1'],
      '7:3: sinks.p: "channel" is missing; add the channel to write to: an expression, or { value: C0123456789 }',
    ],
    [
      'a misspelt channel',
      ['type: slack', 'token: xoxb-1', 'chanel: { value: C0123456789 }'],
      '10:5: sinks.p: unknown key "chanel"; did you mean "channel"?',
    ],
    [
      'a channel of an incoming webhook',
      ['type: slack', 'url: https://hooks.slack.com/x', 'channel: { value: C0123456789 }'],
      '10:5: sinks.p: an incoming webhook always writes to its own channel; remove `channel`, or use `token` in place of `url`',
    ],
    [
      'a channel that is no expression',
      ['type: slack', 'token: xoxb-1', 'channel: C0123456789'],
      '10:14: sinks.p.channel: there is no variable C0123456789; for a constant, write { value: C0123456789 }',
    ],
    [
      'the name of a channel',
      ['type: slack', 'token: xoxb-1', "channel: '#sales'"],
      '10:15: sinks.p.channel: this is not allowed here; for a constant, write { value: … }',
    ],
    [
      'an address that is no expression',
      ['type: email', 'server: smtp://mail.example.com', 'from: leads@example.com', 'to: sales@example.com'],
      '11:9: sinks.p.to: this is an address, not an expression; for a constant, write { value: "sales@example.com" }',
    ],
    ...["''", "'#sales'", 'sales', '5', '~'].map((channel): [string, string[], string] => [
      `the channel ${channel}`,
      ['type: slack', 'token: xoxb-1', `channel: { value: ${channel} }`],
      '10:23: sinks.p.channel.value: must be the id of a channel such as C0123456789; Slack shows it in the details of the channel, below its description',
    ]),
    [
      'a token that is not of a bot',
      ['type: slack', 'token: xoxp-1', 'channel: { value: C0123456789 }'],
      '9:12: sinks.p.token: must be a bot token on one line: it begins with xoxb-',
    ],
    ...["''", 'not an address', 'a@example.com; Ben', '5'].map((to): [string, string[], string] => [
      `the recipients ${to}`,
      ['type: email', 'server: smtp://a', 'from: leads@example.com', `to: { value: ${to} }`],
      '11:18: sinks.p.to.value: must be one or more email addresses, with commas between them: "a@example.com, b@example.com"',
    ]),
    [
      'two addresses for replies',
      [
        'type: email',
        'server: smtp://a',
        'from: leads@example.com',
        'to: { value: "a@example.com, b@example.com" }',
        'reply_to: { value: "a@example.com, b@example.com" }',
      ],
      '12:24: sinks.p.reply_to.value: must be one email address such as sales@example.com',
    ],
    [
      'no recipient',
      ['type: email', 'server: smtp://mail.example.com', 'from: leads@example.com'],
      '7:3: sinks.p: "to" is missing; add it',
    ],
    [
      'a server that is none',
      ['type: email', 'server: mail.example.com', 'from: leads@example.com', 'to: { value: a@example.com }'],
      '9:13: sinks.p.server: must be a URL such as smtp://user:password@mail.example.com:587, or smtps:// for TLS from the start',
    ],
    [
      'a sender with a name',
      ['type: email', 'server: smtp://a', 'from: Leads <leads@example.com>', 'to: { value: a@example.com }'],
      '10:11: sinks.p.from: must be an email address such as leads@example.com',
    ],
  ])('%s', (_, lines, fault) => {
    expect(faultsOf(sink(...lines), {}, sinkTypes)).toEqual([fault]);
  });
});

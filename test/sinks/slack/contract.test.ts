import type { Delivery } from '../../../src/leads/delivery.ts';
import { type Answering, promisesOfAnswers } from '../answers-contract.ts';
import { type Arrived, type Destination, promisesOfEverySink } from '../contract.ts';
import { givingValues } from '../giving-values.ts';
import { closedPort } from '../ports.ts';
import { readLines } from '../read-lines.ts';
import { shownAnswer, shownText } from '../shown-text.ts';
import { CHANNEL, openSlack } from './open-slack.ts';
import { type SlackStub, type StoredMessage, startSlackStub, TOKEN } from './slack-stub.ts';

promisesOfEverySink('slack with a bot token, a message per lead', () => start('token', 1));
promisesOfEverySink('slack with a bot token, as digests', () => start('token', 20));
promisesOfEverySink('slack with an incoming webhook', () => start('webhook', 1));

for (const batchMax of [1, 20])
  promisesOfAnswers(`slack with a bot token, up to ${batchMax} leads per message`, {
    cut: () => startAnswering('token', batchMax, (stub) => stub.answerPosts('cut')),
    mixed: () =>
      startAnswering('token', batchMax, ({ channels }) =>
        Object.assign(channels, { [OTHER]: 'channel_not_found' }),
      ),
    vague: () =>
      startAnswering('token', batchMax, (stub) => stub.answerPosts({ body: {} }, { body: {} }, { body: {} })),
  });
promisesOfAnswers('slack with an incoming webhook', {
  vague: () =>
    startAnswering('webhook', 1, (stub) =>
      stub.answerPosts({ body: '<html>Welcome</html>' }, { body: '' }, { body: {} }),
    ),
});

const OTHER = 'C0123OTHER';

async function startAnswering(
  way: 'token' | 'webhook',
  batchMax: number,
  prepare: (stub: SlackStub) => unknown,
): Promise<Answering> {
  const stub = await startSlackStub();
  prepare(stub);
  const options = way === 'token' ? { token: TOKEN, api_url: stub.apiUrl } : { url: stub.webhookUrl };
  const sink = openSlack(options, { batchMax });
  const channelOf = ({ leadId }: Delivery) => (leadId === 2n && stub.channels[OTHER] ? OTHER : CHANNEL);
  return {
    sink: {
      ...givingValues(sink, {}),
      deliver: (batch, signal) => {
        const deliveries = batch.deliveries.map((one) => ({
          ...one,
          perLead: new Map([['channel', channelOf(one)]]),
        }));
        return sink.deliver(way === 'token' ? { ...batch, deliveries } : batch, signal);
      },
    },
    // Every message, so that one that comes twice is seen.
    arrived: async () => stub.messages.flatMap((message) => readAsPerson([message]).map(({ id }) => id)),
    close: () => stub.close(),
  };
}

async function start(way: 'token' | 'webhook', batchMax: number): Promise<Destination> {
  const stub = await startSlackStub();
  const silent = await startSlackStub();
  silent.answerPosts('silent');
  const open = ({ apiUrl, webhookUrl }: Pick<SlackStub, 'apiUrl' | 'webhookUrl'>, parts = {}) => {
    const options = way === 'token' ? { token: TOKEN, api_url: apiUrl } : { url: webhookUrl };
    const values = way === 'token' ? { channel: CHANNEL } : {};
    return givingValues(openSlack(options, { batchMax, ...parts }), values);
  };
  const nobody = `http://127.0.0.1:${closedPort}`;
  return {
    open: (parts) => open(stub, parts),
    openUnavailable: () => open({ apiUrl: nobody, webhookUrl: `${nobody}/services` }),
    openHanging: () => open(silent),
    arrived: async () => readAsPerson(stub.messages),
    received: async () =>
      stub.posts.map(({ path, headers, content }) => {
        const address =
          way === 'token' ? stub.apiUrl + path.slice('/api'.length) : new URL(stub.webhookUrl).origin;
        const { authorization, ...others } = headers as Record<string, string>;
        const hidden = authorization === undefined ? {} : { authorization: 'Bearer [secret]' };
        return {
          target: `POST ${address}${way === 'token' ? '' : '/[secret]'}`,
          fields: { ...others, ...hidden },
          content,
        };
      }),
    documented: shownText,
    documentedAnswer: shownAnswer,
    close: async () => {
      await stub.close();
      await silent.close();
    },
  };
}

/** As a person reads: a message about a lead that was there already is a repeat, and a test is no lead. */
function readAsPerson(messages: readonly StoredMessage[]): Arrived[] {
  const leads = messages.flatMap(({ body: { blocks } }) => {
    const [header, ...rest] = blocks;
    if (header?.text?.text.startsWith('TEST of leadsync')) return [];
    const footers = rest.flatMap(({ type, elements }, index) =>
      type === 'context' ? [{ index, elements }] : [],
    );
    return footers.map(({ index, elements }) => {
      const section = rest[index - 1];
      return readLead(
        section?.type === 'section' ? unescaped(section.text?.text ?? '') : '',
        elements?.[0]?.text ?? '',
      );
    });
  });
  return [...new Map(leads.map((lead) => [`${lead.source}:${lead.id}`, lead])).values()];
}

function unescaped(text: string): string {
  return text.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&');
}

function readLead(text: string, footer: string): Arrived {
  const [source = '', id = ''] = (footer.split(' · ').find((part) => /^\w+:\d+$/.test(part)) ?? '').split(
    ':',
  );
  return readLines(text, source, id);
}

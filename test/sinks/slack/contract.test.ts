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

import PostalMime, { type Email } from 'postal-mime';
import type { Delivery } from '../../../src/leads/delivery.ts';
import { startSmtpServer } from '../../alerts/smtp-server.ts';
import { type Answering, promisesOfAnswers } from '../answers-contract.ts';
import { type Arrived, type Destination, promisesOfEverySink } from '../contract.ts';
import { givingValues } from '../giving-values.ts';
import { closedPort } from '../ports.ts';
import { readLines } from '../read-lines.ts';
import { shownText } from '../shown-text.ts';
import { type MailServer, startMailServer } from './mail-server.ts';
import { openEmail, TO } from './open-email.ts';

promisesOfEverySink('email', start);

promisesOfAnswers('email', {
  cut: async () => {
    const server = await startMailServer();
    server.cutNext();
    return answering(server, () => TO);
  },
  mixed: async () => {
    const server = await startMailServer({
      onRcptTo: ({ address }, _, done) =>
        done(
          address === NOBODY ? Object.assign(new Error('5.1.1 no such user'), { responseCode: 550 }) : null,
        ),
    });
    return answering(server, ({ leadId }) => (leadId === 2n ? NOBODY : TO));
  },
});

const NOBODY = 'nobody@example.com';

function answering(server: MailServer, recipientOf: (delivery: Delivery) => string): Answering {
  const sink = openEmail(server.url);
  return {
    sink: {
      ...givingValues(sink, {}),
      deliver: (batch, signal) => {
        const deliveries = batch.deliveries.map((one) => ({
          ...one,
          perLead: new Map([['to', recipientOf(one)]]),
        }));
        return sink.deliver({ ...batch, deliveries }, signal);
      },
    },
    arrived: async () => readMailbox(server.stored.map(({ mail }) => mail)).map(({ id }) => id),
    close: () => server.close(),
  };
}

async function start(): Promise<Destination> {
  // Not `smtp-server`, which waits for a moment before it greets each client: some tests send hundreds of emails.
  const server = await startSmtpServer();
  const silent = await startMailServer({ onData: () => undefined });
  const open = (url: string, parts = {}) => givingValues(openEmail(url, parts), { to: TO });
  const mails = () => Promise.all(server.received.map(({ data }) => PostalMime.parse(data)));
  return {
    open: (parts) => open(`smtp://${server.host}`, parts),
    openUnavailable: () => open(`smtp://127.0.0.1:${closedPort}`),
    openHanging: () => open(silent.url),
    arrived: async () => readMailbox(await mails()),
    received: async () =>
      (await mails()).map(({ headers, text, html }) => ({
        target: `email through ${server.host}`,
        fields: Object.fromEntries(headers.map(({ originalKey, value }) => [originalKey, value])),
        content: `${text}\n${html}`,
      })),
    documented: shownText,
    documentedAnswer: (text) => {
      const shown = shownText(text);
      return shown.length > 20_000 ? `${shown.slice(0, 19_999)}…` : shown;
    },
    close: async () => {
      await server.close();
      await silent.close();
    },
  };
}

/** As a mailbox that drops emails whose Message-ID it has. A test is no lead. */
function readMailbox(mails: readonly Email[]): Arrived[] {
  const leads = mails.filter(({ subject }) => !subject?.startsWith('TEST of leadsync'));
  const known = new Map(leads.map((mail) => [mail.messageId, mail]));
  return [...known.values()].map(({ text = '' }) => {
    const [, lines = '', source = '', id = ''] = /^(.*)\n\nLead (\w+):(\d+)\n?$/s.exec(text) ?? [];
    return readLines(lines, source, id);
  });
}

import { type Arrived, type Destination, promisesOfEverySink } from '../contract.ts';
import { givingValues } from '../giving-values.ts';
import { closedPort } from '../ports.ts';
import { readLines } from '../read-lines.ts';
import { shownText } from '../shown-text.ts';
import { type MailServer, type StoredMail, startMailServer } from './mail-server.ts';
import { openEmail, TO } from './open-email.ts';

promisesOfEverySink('email', start);

async function start(): Promise<Destination> {
  const server = await startMailServer();
  const silent = await startMailServer({ onData: () => undefined });
  const open = ({ url }: Pick<MailServer, 'url'>, parts = {}) =>
    givingValues(openEmail(url, parts), { to: TO });
  return {
    open: (parts) => open(server, parts),
    openUnavailable: () => open({ url: `smtp://127.0.0.1:${closedPort}` }),
    openHanging: () => open(silent),
    arrived: async () => readMailbox(server.stored),
    received: async () =>
      server.stored.map(({ mail }) => ({
        target: `email through ${new URL(server.url).host}`,
        fields: Object.fromEntries(
          mail.headers.map(({ originalKey, value }) => [originalKey, value] as const),
        ),
        content: `${mail.text}\n${mail.html}`,
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
function readMailbox(stored: readonly StoredMail[]): Arrived[] {
  const leads = stored.filter(({ mail }) => !mail.subject?.startsWith('TEST of leadsync'));
  const known = new Map(leads.map(({ mail }) => [mail.messageId, mail]));
  return [...known.values()].map(({ text = '' }) => {
    const [, lines = '', source = '', id = ''] = /^(.*)\n\nLead (\w+):(\d+)\n?$/s.exec(text) ?? [];
    return readLines(lines, source, id);
  });
}

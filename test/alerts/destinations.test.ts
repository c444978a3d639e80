import { Webhook } from 'standardwebhooks';
import { describe, expect, onTestFinished, test } from 'vitest';
import { DestinationError } from '../../src/alerts/destination.ts';
import type { Message, Notice } from '../../src/alerts/notice.ts';
import { alertOptions, openDestination } from '../../src/alerts/options.ts';
import { nameOption } from '../../src/config/options/option-limits.ts';
import { systemClock } from '../../src/platform/time/clock.ts';
import { freePort } from '../support/servers/server-process.ts';
import { startWebhookReceiver, type WebhookReceiver } from '../support/servers/webhook-receiver.ts';
import { type SmtpServer, startSmtpServer } from './smtp-server.ts';

const SECRET = 'whsec_c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0';
const signal = new AbortController().signal;

const begun: Notice = {
  kind: 'begun',
  condition: 'sink_held',
  severity: 'critical',
  about: 'crm',
  since: new Date('2026-11-20T09:00:00.000Z'),
  at: new Date('2026-11-20T10:30:00.000Z'),
  what: 'crm is held: https://crm.example.com answered 503 <b>.',
  next: 'Mend the destination.',
};
const over: Notice = {
  ...begun,
  kind: 'over',
  condition: 'no_poll',
  about: 'main',
  what: 'main is polled again.',
  next: '',
};
const from = { name: undefined, url: undefined };
const message: Message = { id: 'alert_1', at: begun.at, from, test: false, notices: [over, begun] };
const marked: Message = { id: 'alert_2', at: begun.at, from, test: true, notices: [] };
/** The same message from an installation with a name and pages. */
const named: Message = { ...message, from: { name: 'north', url: 'https://leads.example.com' } };

function open(options: object) {
  const { to } = alertOptions(nameOption).parse({ to: { ops: options } });
  const [[, written] = []] = Object.entries(to);
  if (!written) throw new Error('no destination');
  return openDestination(written, systemClock);
}

async function aReceiver(): Promise<WebhookReceiver> {
  const receiver = await startWebhookReceiver();
  onTestFinished(() => receiver.close());
  return receiver;
}

async function aMailServer(): Promise<SmtpServer> {
  const server = await startSmtpServer();
  onTestFinished(() => server.close());
  return server;
}

async function failureOf(work: Promise<void>): Promise<DestinationError> {
  const error = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof DestinationError)) throw new Error('it did not fail as foreseen', { cause: error });
  return error;
}

describe('a webhook', () => {
  test('gets the notices as signed JSON, with the configured headers', async () => {
    const receiver = await aReceiver();
    const headers = { Authorization: 'Bearer canary' };
    await open({ type: 'webhook', url: receiver.url, secret: SECRET, headers }).send(message, signal);
    const [request] = receiver.received;
    expect(request?.headers).toMatchObject({ 'webhook-id': 'alert_1', authorization: 'Bearer canary' });
    const body = new Webhook(SECRET).verify(
      String(request?.body),
      request?.headers as Record<string, string>,
    );
    expect(body).toMatchObject({
      type: 'leadsync.alert',
      installation: null,
      notices: [
        { state: 'over', condition: 'no_poll', about: 'main' },
        {
          state: 'begun',
          condition: 'sink_held',
          severity: 'critical',
          about: 'crm',
          since: '2026-11-20T09:00:00.000Z',
          seconds: 5_400,
          next: 'Mend the destination.',
          url: null,
          runbook: 'docs/operating.md#sink-held',
          runbook_url: null,
        },
      ],
    });
  });

  test('gets the name of the installation, and a link to the page that shows each problem', async () => {
    const receiver = await aReceiver();
    const dead = { ...begun, condition: 'deliveries_dead', about: 'crm & co' } as const;
    const full = { ...begun, condition: 'ledger_fails', about: undefined } as const;
    await open({ type: 'webhook', url: receiver.url }).send(
      { ...named, notices: [dead, full, over] },
      signal,
    );
    const { installation, notices } = JSON.parse(String(receiver.received[0]?.body));
    expect(installation).toBe('north');
    expect(notices[0]).toMatchObject({
      runbook: 'docs/operating.md#deliveries-dead',
      runbook_url: 'https://leads.example.com/runbook/deliveries-dead',
    });
    expect(notices.map(({ url }: { url: string }) => url)).toEqual([
      'https://leads.example.com/deliveries?sink=crm%20%26%20co&state=dead',
      'https://leads.example.com/',
      'https://leads.example.com/polls?source=main',
    ]);
  });

  test('gets a test message that is marked as a test', async () => {
    const receiver = await aReceiver();
    await open({ type: 'webhook', url: receiver.url }).send(marked, signal);
    const body = JSON.parse(String(receiver.received[0]?.body));
    expect(body).toMatchObject({ type: 'leadsync.alert.test', notices: [] });
    expect(receiver.received[0]?.headers).not.toHaveProperty('webhook-signature');
  });
});

describe('Slack', () => {
  test('gets problems before what is over, without text that Slack would turn into a link', async () => {
    const receiver = await aReceiver();
    await open({ type: 'slack', url: receiver.url }).send(message, signal);
    const { text } = JSON.parse(String(receiver.received[0]?.body));
    expect(text.split('\n')).toEqual([
      '*leadsync: sink held (crm) and 1 more*',
      'crm is held: https://crm.example.com answered 503 &lt;b&gt;.',
      'Since 2026-11-20 09:00 UTC (1 h 30 min).',
      'Next: Mend the destination.',
      'See docs/operating.md#sink-held',
      '',
      'Over after 1 h 30 min: main is polled again. The condition had started at 2026-11-20 09:00 UTC.',
    ]);
  });
});

test('a message of an installation with a name and pages begins with the name and has links', async () => {
  const receiver = await aReceiver();
  await open({ type: 'slack', url: receiver.url }).send(named, signal);
  const { text } = JSON.parse(String(receiver.received[0]?.body));
  expect(text.split('\n').slice(0, 6)).toEqual([
    '*leadsync north: sink held (crm) and 1 more*',
    'crm is held: https://crm.example.com answered 503 &lt;b&gt;.',
    'Since 2026-11-20 09:00 UTC (1 h 30 min).',
    'Next: Mend the destination.',
    'Open https://leads.example.com/sinks/crm',
    'See https://leads.example.com/runbook/sink-held',
  ]);
});

describe.each(['webhook', 'slack'])('a destination that uses HTTP (%s)', (type) => {
  test('has failed if it does not answer 2xx; the error does not contain its path', async () => {
    const receiver = await aReceiver();
    const destination = open({ type, url: receiver.url });
    for (const status of [302, 404, 500]) {
      receiver.answerNext(status);
      const { message: what, hint } = await failureOf(destination.send(message, signal));
      expect(what).toBe(`${new URL(receiver.url).origin} answered ${status}.`);
      expect(hint).toMatch(/\.$/);
    }
  });

  test('has failed if no server listens there, for the check too', async () => {
    const destination = open({ type, url: `http://127.0.0.1:${await freePort()}/canary` });
    for (const work of [destination.send(message, signal), destination.check(signal)]) {
      const { message: what } = await failureOf(work);
      expect(what).toContain('refuses the connection');
      expect(what).not.toContain('canary');
    }
  });

  test('is checked without a message', async () => {
    const receiver = await aReceiver();
    await open({ type, url: receiver.url }).check(signal);
    expect(receiver.received.map(({ method }) => method)).toEqual(['HEAD']);
  });
});

describe('e-mail', () => {
  const mail = { type: 'email', from: 'leadsync@example.com', to: ['ops@example.com', 'boss@example.com'] };

  test('goes to every recipient, in plain text, with the headers of an automatic mail', async () => {
    const server = await aMailServer();
    await open({ ...mail, server: `smtp://user:pa%40ss@${server.host}` }).send(message, signal);
    const [received] = server.received;
    expect(received).toMatchObject({ from: 'leadsync@example.com', to: mail.to });
    expect(received?.data).toContain('Subject: leadsync: sink held (crm) and 1 more');
    expect(received?.data).toContain('Message-ID: <alert_1@leadsync>');
    expect(received?.data).toContain('Auto-Submitted: auto-generated');
    expect(received?.data).toContain('Next: Mend the destination.');
    const login = Buffer.from('\0user\0pa@ss').toString('base64');
    expect(server.commands).toContain(`AUTH PLAIN ${login}`);
  });

  test('gets no additional header from what a destination answered', async () => {
    const server = await aMailServer();
    const notices = [{ ...begun, what: 'a\r\nBcc: thief@example.com\r\n\r\nb' }];
    await open({ ...mail, server: `smtp://${server.host}` }).send({ ...message, notices }, signal);
    expect(server.received[0]?.data).not.toMatch(/^Bcc:/m);
    expect(server.received[0]?.to).toEqual(mail.to);
  });

  test('is checked without a mail', async () => {
    const server = await aMailServer();
    await open({ ...mail, server: `smtp://${server.host}` }).check(signal);
    expect(server.commands.some((command) => command.startsWith('MAIL'))).toBe(false);
  });

  test.each([
    ['a wrong password', { AUTH: '535 canary' }, 'rejects the user name or the password (535)'],
    ['a wrong receiver', { RCPT: '550 canary' }, 'rejects the sender, a recipient or the message (550)'],
    [
      'a mail that it does not want',
      { DATA: '554 canary' },
      'rejects the sender, a recipient or the message (554)',
    ],
  ])('reports %s as such, without the text of the server', async (_, answers, said) => {
    const server = await aMailServer();
    Object.assign(server.answers, answers);
    const destination = open({ ...mail, server: `smtp://user:canary@${server.host}` });
    const { message: what } = await failureOf(destination.send(message, signal));
    expect(what).toContain(said);
    expect(what).not.toContain('canary');
  });

  test('never sends a password over the network in the clear', async () => {
    const server = await aMailServer();
    const port = server.host.split(':')[1];
    server.answers['STARTTLS'] = '454 no';
    // A name that is no loopback one in the configuration, and leads here all the same.
    const destination = open({ ...mail, server: `smtp://user:canary@[::ffff:127.0.0.1]:${port}` });
    await failureOf(destination.send(message, signal));
    expect(server.commands.join('\n')).not.toContain('AUTH');
  });

  test('has failed if no server listens there', async () => {
    const destination = open({ ...mail, server: `smtp://127.0.0.1:${await freePort()}` });
    expect((await failureOf(destination.send(message, signal))).hint).toContain('host and port');
  });
});

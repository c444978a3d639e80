import { createServer, type Socket } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import type { Delivery } from '../../../src/leads/delivery.ts';
import type { MappedValue } from '../../../src/leads/mapped-fields.ts';
import { mayHaveArrived, type Outcome } from '../../../src/leads/outcome.ts';
import type { Sink } from '../../../src/sinks/sink.ts';
import { LeaseOver, SinkUnavailable } from '../../../src/sinks/sink-unavailable.ts';
import { testBatch } from '../../../src/sinks/test-batch.ts';
import { startSmtpServer } from '../../alerts/smtp-server.ts';
import { aBatch, aDelivery } from '../../support/scene/a-delivery.ts';
import { aLead } from '../../support/scene/a-lead.ts';
import { type MailServer, startMailServer } from './mail-server.ts';
import { openEmail, TO } from './open-email.ts';

const NEVER = new AbortController().signal;

const closers: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

async function aServer(options?: Parameters<typeof startMailServer>[0]): Promise<MailServer> {
  const server = await startMailServer(options);
  closers.push(server.close);
  return server;
}

function opened(...parameters: Parameters<typeof openEmail>): Sink {
  const sink = openEmail(...parameters);
  closers.push(() => sink.close());
  return sink;
}

/** A lead with values for the options of the sink. */
function lead(values: Record<string, MappedValue> = {}, fields: Partial<Delivery> = {}): Delivery {
  return aDelivery({ perLead: new Map(Object.entries({ to: TO, ...values })), ...fields });
}

/** Returns the outcome of one lead, whatever way the sink says it. */
async function outcomeOf(sink: Sink, delivery = lead()): Promise<Outcome> {
  try {
    const [outcome] = await sink.deliver(aBatch([delivery]), NEVER);
    if (!outcome) throw new Error('no outcome');
    return outcome;
  } catch (error) {
    if (!(error instanceof SinkUnavailable)) throw error;
    return error.toOutcome();
  }
}

describe('an email', () => {
  test('has what is needed to ring back, as text and as HTML, and a link to the page of the lead', async () => {
    const server = await aServer();
    const leadUrl = () => 'https://leadsync.example.com/leads/main/42';
    const outcome = await outcomeOf(opened(server.url, { leadUrl }));
    expect(outcome).toEqual({
      kind: 'delivered',
      ref: { object: 'message', id: '<dlv_42_1@example.com>' },
    });
    const [{ from, to, mail, raw } = never()] = server.stored;
    expect({ from, to }).toEqual({ from: 'leads@example.com', to: [TO] });
    expect(mail).toMatchObject({
      subject: 'New lead: House Cleaning',
      messageId: '<dlv_42_1@example.com>',
      replyTo: [{ address: 'anna.mueller@example.com' }],
    });
    expect(raw).toMatch(/^Auto-Submitted: auto-generated$/m);
    expect(mail.text?.trim()).toBe(
      [
        'Name: Anna Müller',
        'Phone: +49 151 23456789',
        'Email: anna.mueller@example.com',
        'Address: Footscray, VIC, 3011',
        'Service: House Cleaning',
        'How many bedrooms are there? 3',
        'Anything else? Two cats,',
        '    one "dog"',
        'Time: 2026-11-20 09:59 UTC',
        '',
        'Lead main:42: https://leadsync.example.com/leads/main/42',
      ].join('\n'),
    );
    expect(mail.html).toContain('<a href="tel:+4915123456789">+49 151 23456789</a>');
    expect(mail.html).toContain('<a href="mailto:anna.mueller@example.com">');
    expect(mail.html).toContain('<a href="https://leadsync.example.com/leads/main/42">Open the lead</a>');
  });

  test('goes to every address of a text or a list, once each', async () => {
    const server = await aServer();
    const sink = opened(server.url);
    await outcomeOf(sink, lead({ to: 'a@example.com, b@example.com; a@example.com' }));
    await outcomeOf(sink, lead({ to: ['c@example.com', 'd@example.com,e@example.com'] }));
    expect(server.stored.map(({ to }) => to)).toEqual([
      ['a@example.com', 'b@example.com'],
      ['c@example.com', 'd@example.com', 'e@example.com'],
    ]);
  });

  test.each<[string, MappedValue]>([
    ['nothing', null],
    ['an empty text', ''],
    ['a text that is no address', 'sales'],
    ['an address and something else', 'a@example.com, sales'],
    ['a number', 3n],
    ['a command of SMTP', 'a@example.com>\r\nRCPT TO:<b@example.com'],
    ['a name with an address', 'Sales <a@example.com>'],
    ['too many', Array.from({ length: 51 }, (_, n) => `a${n}@example.com`)],
  ])('is not sent if `to` gives %s', async (_, to) => {
    const server = await aServer();
    expect(await outcomeOf(opened(server.url), lead({ to }))).toEqual({
      kind: 'refused',
      reason: 'The expression in `to` does not give email addresses for this lead.',
      unsent: true,
    });
    expect(server.stored).toEqual([]);
  });

  test('has the subject, text, HTML and address for replies of the configuration', async () => {
    const server = await aServer();
    const values = {
      subject: 'Ring',
      text: 'One\r\ntwo',
      html: '<p>One &lt;b&gt;</p>',
      reply_to: 'boss@example.com',
    };
    await outcomeOf(opened(server.url), lead(values));
    const { mail } = server.stored[0] ?? never();
    expect(mail).toMatchObject({ subject: 'Ring', replyTo: [{ address: 'boss@example.com' }] });
    expect([mail.text?.trim(), mail.html?.trim()]).toEqual(['One\ntwo', '<p>One &lt;b&gt;</p>']);
  });

  test('has no address for replies if that of the client is not valid', async () => {
    const server = await aServer();
    for (const client_email of ['', 'none', 'a@example.com\r\nBcc: b@example.com', '"x y"@example.com'])
      await outcomeOf(opened(server.url), lead({}, { raw: aLead({ client_email }) }));
    expect(server.stored.map(({ mail }) => mail.replyTo)).toEqual([
      undefined,
      undefined,
      undefined,
      undefined,
    ]);
  });

  test('has no header, recipient or markup that a stranger types', async () => {
    const server = await aServer();
    const hostile = 'x\r\nBcc: evil@example.com\r\n\r\n<script>alert(1)</script> "&\u202e\0';
    const raw = aLead({
      client_name: hostile,
      service_name: hostile,
      client_email: hostile,
      client_phone_number: hostile,
      client_address: { friendly_address: hostile },
      service_question_answers: [{ question: hostile, slug: 'a', answer: hostile }],
    });
    await outcomeOf(opened(server.url), lead({ subject: hostile, reply_to: hostile }, { raw }));
    const { to, mail } = server.stored[0] ?? never();
    expect(to).toEqual([TO]);
    expect(mail.headers.map(({ key }) => key).sort()).toEqual([
      'auto-submitted',
      'content-type',
      'date',
      'from',
      'message-id',
      'mime-version',
      'subject',
      'to',
    ]);
    expect(mail.subject).not.toMatch(/[\r\n]/);
    expect(mail.html).not.toMatch(/<script|\u202e/);
    expect(mail.html).toContain('\\u202e');
  });

  test("stores the server's answer to it only if every answer is stored", async () => {
    const long = `queued as 4XyZ ${'.'.repeat(2_000)}`;
    const server = await aServer({
      onData: (stream, _session, done) => void stream.resume().once('end', () => done(null, long)),
    });
    const ref = { object: 'message', id: '<dlv_42_1@example.com>' };
    expect(await outcomeOf(opened(server.url))).toStrictEqual({ kind: 'delivered', ref });
    const answer = `250 ${long}`.slice(0, 1_000);
    expect(await outcomeOf(opened(server.url, {}, { store_answers: 'all' }))).toStrictEqual({
      kind: 'delivered',
      ref,
      answer,
    });
  });

  test('has the same id for every attempt, and another for a replay', async () => {
    const server = await aServer();
    const sink = opened(server.url);
    for (const id of [
      'mail:main:42:1:0123abcd',
      'mail:main:42:1:0123abcd',
      'mail:main:42:1:0123abcd:r1',
      'süß <x>@.',
    ])
      await outcomeOf(sink, lead({}, { id }));
    expect(server.stored.map(({ mail }) => mail.messageId)).toEqual([
      '<mail=3amain=3a42=3a1=3a0123abcd@example.com>',
      '<mail=3amain=3a42=3a1=3a0123abcd@example.com>',
      '<mail=3amain=3a42=3a1=3a0123abcd=3ar1@example.com>',
      '<s=c3=bc=c3=9f=20=3cx=3e=40=2e@example.com>',
    ]);
  });

  test.each([
    ['a change', { event: 'updated' }, 'Changed lead: House Cleaning'],
    ['a replay', { replay: true }, 'Lead sent again: House Cleaning'],
  ] as const)('says in its subject that it is %s', async (_, fields, subject) => {
    const server = await aServer();
    await outcomeOf(opened(server.url), lead({}, fields));
    expect(server.stored[0]?.mail.subject).toBe(subject);
  });
});

describe('what an answer means', () => {
  test.each<[string, Record<string, string>, string, string?]>([
    [
      'a mailbox that does not exist',
      { RCPT: '550 5.1.1 no such user' },
      'refused',
      'refused every recipient (550)',
    ],
    ['a mailbox that is full', { RCPT: '552 5.2.2 full' }, 'refused'],
    ['a mailbox, without an enhanced code', { RCPT: '550 no' }, 'refused'],
    ['relaying', { RCPT: '554 5.7.1 relay access denied' }, 'unavailable', 'Allow leadsync to send'],
    ['a block list', { RCPT: '550 5.7.1 blocked' }, 'unavailable', 'Allow leadsync to send'],
    ['greylisting', { RCPT: '450 4.7.1 try later' }, 'unavailable', 'temporary'],
    ['the sender', { MAIL: '553 5.7.1 not yours' }, 'unavailable', 'Correct `from`'],
    ['the sender, for now', { MAIL: '451 later' }, 'unavailable', 'temporary'],
    ['the size', { MAIL: '552 5.3.4 too large' }, 'refused', 'size'],
    ['the data', { DATA: '554 no' }, 'refused', 'refused the email (554)'],
    ['the data, for now', { DATA: '451 later' }, 'unavailable'],
    ['the message', { '.': '554 5.6.0 spam' }, 'refused', 'refused the email (554)'],
    ['the message, for now', { '.': '452 4.3.1 full' }, 'unavailable', 'temporary'],
    ['a server that ends', { '.': '421 bye' }, 'unavailable'],
    ['the login', { AUTH: '535 5.7.8 no' }, 'unavailable', 'Correct them in `server`'],
    ['the login, for now', { AUTH: '454 later' }, 'unavailable', 'temporary'],
  ])('%s', async (_, answers, kind, words = '') => {
    const server = await startSmtpServer();
    closers.push(server.close);
    Object.assign(server.answers, answers);
    const outcome = await outcomeOf(opened(`smtp://user:canary@${server.host}`));
    expect(outcome.kind).toBe(kind);
    expect(mayHaveArrived(outcome)).toBe(false);
    const reason = 'reason' in outcome ? outcome.reason : '';
    expect(reason).toContain(words);
    expect(reason).not.toMatch(/canary|no such user|sales@/);
  });

  test('an email that the server takes for one of two recipients is delivered', async () => {
    const server = await aServer({
      onRcptTo: ({ address }, _session, done) =>
        address.startsWith('gone')
          ? done(Object.assign(new Error('no such user'), { responseCode: 550 }))
          : done(),
    });
    const outcome = await outcomeOf(opened(server.url), lead({ to: 'gone@example.com, here@example.com' }));
    expect(outcome.kind).toBe('delivered');
    expect(server.stored.map(({ to }) => to)).toEqual([['here@example.com']]);
  });

  test('a connection that is lost before the email leaves it unsent, and one that is lost after it leaves it open', async () => {
    for (const [at, expected] of [
      ['EHLO', false],
      ['MAIL', true],
      ['.', true],
    ] as const) {
      const outcome = await outcomeOf(opened(await serverThatLeaves(at)));
      expect([at, outcome.kind, mayHaveArrived(outcome)]).toEqual([at, 'unavailable', expected]);
      expect('reason' in outcome && outcome.reason).toContain('closed the connection');
    }
  });

  test('a server that hangs is left at the deadline', async () => {
    const server = await aServer({ onData: () => undefined });
    const outcome = await outcomeOf(opened(server.url, { timeoutMs: 1_000 }));
    expect(outcome).toMatchObject({ kind: 'unavailable', reason: expect.stringContaining('within 1 s') });
    expect(mayHaveArrived(outcome)).toBe(true);
  });

  test('a server that does not speak SMTP, or has no certificate, is reported', async () => {
    const http = createServer((socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'));
    closers.push(() => new Promise((resolve) => http.close(resolve)));
    const noSmtp = await outcomeOf(opened(`smtp://${await listening(http)}`));
    expect('reason' in noSmtp && noSmtp.reason).toContain('does not answer in SMTP');
    const plain = await aServer();
    const noTls = await outcomeOf(opened(plain.url.replace('smtp:', 'smtps:')));
    expect('reason' in noTls && noTls.reason).toContain('TLS connection');
  });

  test('the lease is confirmed when the connection is made', async () => {
    const server = await aServer();
    const under = {
      timeLeftMs: () => 60_000,
      confirmLease: (() => {
        let looks = 0;
        return () => {
          looks += 1;
          if (looks > 1) throw new LeaseOver();
        };
      })(),
    };
    const attempt = opened(server.url).deliver(aBatch([lead()]), NEVER, under);
    await expect(attempt).rejects.toBeInstanceOf(LeaseOver);
    expect(server.stored).toEqual([]);
  });
});

describe('check and test', () => {
  test('check logs in, and sends nothing', async () => {
    const server = await startSmtpServer();
    closers.push(server.close);
    await opened(`smtp://user:pw@${server.host}`).check(NEVER);
    expect(server.commands.slice(0, 2).map((line) => line.split(' ')[0])).toEqual(['EHLO', 'AUTH']);
    expect(server.received).toEqual([]);
    server.answers['AUTH'] = '535 no';
    await expect(opened(`smtp://user:pw@${server.host}`).check(NEVER)).rejects.toMatchObject({
      message: expect.stringContaining('does not accept the user or the password'),
    });
  });

  test('test says that the test lead has no recipient', async () => {
    const server = await aServer();
    const { arrived, what } = await opened(server.url).test(testBatch('sink', new Date()), NEVER);
    expect({ arrived, what }).toEqual({ arrived: false, what: expect.stringContaining('use default(') });
    expect(server.stored).toEqual([]);
  });

  test('a preview shows no password', () => {
    const sink = opened('smtp://user:canary@mail.example.com');
    expect(JSON.stringify(sink.preview(aBatch([lead()])))).not.toContain('canary');
    expect(sink.preview(aBatch([lead({ to: '' })]))).toMatchObject([{ target: 'no email' }]);
  });
});

/** Starts a server that closes the connection in place of its answer to a command, or to the end of an email (`.`). */
async function serverThatLeaves(at: string): Promise<string> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    let inData = false;
    socket.on('error', () => undefined).write('220 test\r\n');
    socket.setEncoding('utf8').on('data', (text: string) => {
      for (const line of text.split('\r\n').slice(0, -1)) {
        if (inData && line !== '.') continue;
        const [word = ''] = line.split(' ');
        if (word === at) return void socket.destroy();
        inData = word === 'DATA';
        socket.write(inData ? '354 go on\r\n' : '250 ok\r\n');
      }
    });
  });
  closers.push(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  return `smtp://${await listening(server)}`;
}

async function listening(server: ReturnType<typeof createServer>): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  return typeof address === 'object' && address ? `127.0.0.1:${address.port}` : '';
}

function never(): never {
  throw new Error('there is no email');
}

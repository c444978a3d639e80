import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Delivery } from '../../../src/leads/delivery.ts';
import type { MappedValue } from '../../../src/leads/mapped-fields.ts';
import type { Sink } from '../../../src/sinks/sink.ts';
import { SinkUnavailable } from '../../../src/sinks/sink-unavailable.ts';
import { testBatch } from '../../../src/sinks/test-batch.ts';
import { aBatch, aDelivery } from '../../support/scene/a-delivery.ts';
import { aLead } from '../../support/scene/a-lead.ts';
import { CHANNEL, openSlack } from './open-slack.ts';
import { type SlackStub, startSlackStub, TOKEN } from './slack-stub.ts';

const NEVER = new AbortController().signal;

let stub: SlackStub;
let open: Sink[];

beforeEach(async () => {
  stub = await startSlackStub();
  open = [];
});

afterEach(async () => {
  await Promise.all(open.map((sink) => sink.close()));
  await stub.close();
});

function withToken(parts: Parameters<typeof openSlack>[1] = {}): Sink {
  const sink = openSlack({ token: TOKEN, api_url: stub.apiUrl }, parts);
  open.push(sink);
  return sink;
}

function withWebhook(parts: Parameters<typeof openSlack>[1] = {}): Sink {
  const sink = openSlack({ url: stub.webhookUrl }, parts);
  open.push(sink);
  return sink;
}

/** A lead for a channel. */
function lead(id: number, channel: unknown = CHANNEL, fields: Partial<Delivery> = {}): Delivery {
  return aDelivery({ leadId: BigInt(id), perLead: new Map([['channel', channel as string]]), ...fields });
}

const shown = (index = 0) => JSON.stringify(stub.messages[index]?.body);
const header = (index = 0) => stub.messages[index]?.body.blocks[0]?.text?.text;
const section = (index = 0) => stub.messages[index]?.body.blocks[1]?.text?.text;

describe('a message', () => {
  test('has the data for a call back, and a link to the page of the lead', async () => {
    const leadUrl = () => 'https://leadsync.example.com/leads/main/42?a=1&b=2';
    await withToken({ leadUrl }).deliver(aBatch([lead(42)]), NEVER);
    expect(header()).toBe('New lead: House Cleaning');
    expect(section()).toBe(
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
      ].join('\n'),
    );
    expect(stub.messages[0]?.body.blocks[2]).toMatchObject({
      type: 'context',
      elements: [
        {
          type: 'mrkdwn',
          text: '<https://leadsync.example.com/leads/main/42?a=1&amp;b=2|Open the lead> · main:42',
        },
      ],
    });
  });

  test('has the fields of the mapping in place of the lead, without those that are empty', async () => {
    const fields = new Map<string, MappedValue>([
      ['Phone', '+61412345678'],
      ['Name', 'Ana'],
      ['Note', null],
      ['Rooms', 3n],
    ]);
    await withToken().deliver(aBatch([lead(1, CHANNEL, { fields })]), NEVER);
    expect(section()).toBe('Phone: +61412345678\nName: Ana\nRooms: 3');
    expect(shown()).not.toContain('Müller');
  });

  test.each([
    ['a change', { event: 'updated' }, 'Changed lead: House Cleaning'],
    ['a replay', { replay: true }, 'Lead sent again: House Cleaning'],
  ] as const)('says in its title that it is %s', async (_, fields, title) => {
    await withToken().deliver(aBatch([lead(1, CHANNEL, fields)]), NEVER);
    expect(header()).toBe(title);
  });

  test('has the title of the configuration, on one line and cut', async () => {
    const perLead = new Map([
      ['channel', CHANNEL],
      ['title', `Ring\r\n${'x'.repeat(500)}`],
    ]);
    await withToken().deliver(aBatch([lead(1, CHANNEL, { perLead })]), NEVER);
    expect(header()).toBe(`Ring ${'x'.repeat(134)}…`);
  });

  test('contains no mention and no markup, whatever a stranger types', async () => {
    const hostile =
      '<!channel> <!here> <@U012345> <https://evil.example|your bank> @here @everyone *b* _i_ `c` :tada: & "';
    const raw = aLead({
      client_name: hostile,
      service_name: hostile,
      client_address: { friendly_address: hostile },
      service_question_answers: [
        { question: hostile, slug: 'a', answer: `x\nPhone: +1 900 0000\n${hostile}` },
      ],
    });
    await withToken().deliver(aBatch([lead(1, CHANNEL, { raw })]), NEVER);
    const body = stub.messages[0]?.body;
    // Where Slack reads markup, only leadsync writes.
    expect(body?.blocks.flatMap(({ elements = [] }) => elements)).toEqual([
      { type: 'mrkdwn', text: 'main:1' },
    ]);
    for (const { text } of body?.blocks ?? [])
      if (text) expect(text).toMatchObject({ type: 'plain_text', emoji: false });
    expect(shown()).not.toMatch(/<[!@#h]/);
    expect(body).toMatchObject({ parse: 'none', link_names: false, mrkdwn: false, unfurl_links: false });
    // A line of an answer cannot look like a line of the message.
    expect(
      section()
        ?.split('\n')
        .filter((line) => line.startsWith('Phone:')),
    ).toEqual(['Phone: +49 151 23456789']);
  });

  test.each([
    [
      'a long answer',
      { service_question_answers: [{ question: 'Why?', slug: 'a', answer: 'é&<'.repeat(200_000) }] },
    ],
    [
      'many answers',
      {
        service_question_answers: Array.from({ length: 900 }, (_, n) => ({
          question: `Q${n}?`,
          slug: 'a',
          answer: '<'.repeat(80),
        })),
      },
    ],
    ['a long name', { client_name: '👩‍👩‍👧‍👦'.repeat(5_000), service_name: '&'.repeat(10_000) }],
    [
      'nothing at all',
      {
        client_name: '',
        client_email: '',
        client_phone_number: '',
        client_address: null,
        service_name: '',
        created_at: '',
        service_question_answers: [],
      },
    ],
  ])('stays within the limits of Slack, and is cut visibly: %s', async (_, fields) => {
    const [outcome] = await withToken().deliver(aBatch([lead(1, CHANNEL, { raw: aLead(fields) })]), NEVER);
    expect(outcome?.kind).toBe('delivered');
    if ('client_address' in fields) return;
    expect(shown()).toContain('…');
    expect(shown()).not.toMatch(/&[a-z]{0,3}…/);
    expect(stub.messages[0]?.body.text.isWellFormed()).toBe(true);
  });

  test('is found again by its id, and opened by its address once `check` knows the workspace', async () => {
    const sink = withToken();
    const [first] = await sink.deliver(aBatch([lead(1)]), NEVER);
    const ts = stub.messages[0]?.ts ?? '';
    expect(first).toMatchObject({ ref: { object: 'message', id: `${CHANNEL}/${ts}`, url: undefined } });
    await sink.check(NEVER);
    const [second] = await sink.deliver(aBatch([lead(2)]), NEVER);
    const digits = stub.messages[1]?.ts.replace('.', '');
    expect(second).toMatchObject({
      ref: { url: `https://example-team.slack.com/archives/${CHANNEL}/p${digits}` },
    });
    const [third] = await withWebhook().deliver(aBatch(1), NEVER);
    expect(third).toEqual({ kind: 'delivered', httpStatus: 200 });
  });
});

describe('a digest', () => {
  test('is one message for each channel, with an outcome for each lead', async () => {
    stub.channels['C0GONE'] = 'is_archived';
    const leads = [
      lead(1, 'C0A'),
      lead(2, 'C0GONE'),
      lead(3, 'C0A'),
      lead(4, 'C0B'),
      lead(5, 'C0GONE'),
      lead(6, '#sales'),
    ];
    const outcomes = await withToken({ batchMax: 20 }).deliver(aBatch(leads), NEVER);
    expect(outcomes.map(({ kind }) => kind)).toEqual([
      'delivered',
      'refused',
      'delivered',
      'delivered',
      'refused',
      'refused',
    ]);
    expect(stub.messages.map(({ channel }) => channel)).toEqual(['C0A', 'C0B']);
    expect(header()).toBe('2 leads');
    // A channel that is archived is asked once, not for each of its leads.
    expect(stub.posts).toHaveLength(3);
    expect(outcomes[5]).toMatchObject({ unsent: true, reason: expect.stringContaining('C0123456789') });
  });

  test('becomes several messages if it is too long for one', async () => {
    const answer = 'x'.repeat(900);
    const raw = (id: number) =>
      aLead({ id, service_question_answers: [{ question: 'Why?', slug: 'a', answer }] });
    const leads = Array.from({ length: 60 }, (_, index) =>
      lead(index + 1, CHANNEL, index < 30 ? { raw: raw(index + 1) } : {}),
    );
    const outcomes = await withToken({ batchMax: 100 }).deliver(aBatch(leads), NEVER);
    expect(outcomes.every(({ kind }) => kind === 'delivered')).toBe(true);
    const footers = stub.messages.flatMap(({ body }) => body.blocks.flatMap(({ elements = [] }) => elements));
    expect(footers.map(({ text }) => text)).toEqual(leads.map(({ leadId }) => `main:${leadId}`));
    expect(Math.max(...stub.messages.map(({ body }) => body.blocks.length))).toBeLessThanOrEqual(50);
    expect(stub.messages.length).toBeLessThan(8);
  });

  test('that Slack rejects is halved until the lead at fault is alone', async () => {
    const refuse = { body: { ok: false, error: 'invalid_blocks' } };
    stub.answerPosts(refuse, refuse, refuse);
    const outcomes = await withToken({ batchMax: 20 }).deliver(
      aBatch([1, 2, 3, 4].map((id) => lead(id))),
      NEVER,
    );
    expect(outcomes.map(({ kind }) => kind)).toEqual(['refused', 'delivered', 'delivered', 'delivered']);
  });

  test('delivers to the other channels if one does not answer', async () => {
    stub.answerPosts(
      { body: { ok: true, channel: 'C0A', ts: '1.1' } },
      { body: { ok: false, error: 'ratelimited' } },
    );
    const leads = [lead(1, 'C0A'), lead(2, 'C0B'), lead(3, 'C0C')];
    const outcomes = await withToken({ batchMax: 20 }).deliver(aBatch(leads), NEVER);
    expect(outcomes).toMatchObject([
      { kind: 'delivered' },
      { kind: 'unavailable', unsent: false },
      { kind: 'unavailable', unsent: true },
    ]);
  });
});

describe('a lead that may have arrived', () => {
  const again = (id: number, fields: Partial<Delivery> = {}) =>
    lead(id, CHANNEL, { mayHaveArrived: true, ...fields });

  /** Delivers a lead whose answer gets lost. */
  async function lose(deliveries: readonly Delivery[], sink = withToken()): Promise<void> {
    stub.answerPosts('cut');
    await expect(sink.deliver(aBatch(deliveries), NEVER)).rejects.toBeInstanceOf(SinkUnavailable);
    expect(stub.messages).toHaveLength(1);
  }

  test('is not posted again if its message is there', async () => {
    await lose([lead(1)]);
    const [outcome] = await withToken().deliver(aBatch([again(1)]), NEVER);
    expect(outcome).toEqual({
      kind: 'delivered',
      ref: { object: 'message', id: `${CHANNEL}/${stub.messages[0]?.ts}`, url: undefined },
    });
    expect(stub.messages).toHaveLength(1);
  });

  test('is posted if its message is not there', async () => {
    const [outcome] = await withToken().deliver(aBatch([again(1)]), NEVER);
    expect(outcome?.kind).toBe('delivered');
    expect(stub.calls).toEqual(['conversations.history', 'chat.postMessage']);
    expect(shown()).not.toContain('possibly');
  });

  test('is found in a digest, and the other leads of the batch are posted', async () => {
    const sink = withToken({ batchMax: 20 });
    await lose([lead(1), lead(2)], sink);
    const outcomes = await sink.deliver(aBatch([again(1), again(2), lead(3)]), NEVER);
    expect(outcomes.map(({ kind }) => kind)).toEqual(['delivered', 'delivered', 'delivered']);
    expect(stub.messages[1]?.body.metadata?.event_payload.deliveries).toBe('dlv_3_1');
  });

  test('is found behind the messages of others', async () => {
    await lose([lead(1)]);
    const others = Array.from({ length: 250 }, (_, index) => ({
      ts: `${stub.nowSeconds()}.${900_000 + index}`,
      channel: CHANNEL,
      body: { text: 'lunch?', blocks: [] },
    }));
    stub.messages.push(...others);
    await withToken().deliver(aBatch([again(1)]), NEVER);
    expect(stub.messages).toHaveLength(251);
  });

  test('is posted again, and says so, if it may be behind more messages than leadsync reads', async () => {
    await lose([lead(1)]);
    const others = Array.from({ length: 2_000 }, (_, index) => ({
      ts: `${stub.nowSeconds()}.${900_000 + index}`,
      channel: CHANNEL,
      body: { text: 'lunch?', blocks: [] },
    }));
    stub.messages.push(...others);
    const [outcome] = await withToken().deliver(aBatch([again(1)]), NEVER);
    expect(outcome?.kind).toBe('delivered');
    expect(shown(2_001)).toContain('main:1 · possibly sent before');
  });

  test('is not searched in messages from before its arrival', async () => {
    stub.nowSeconds = () => Date.parse('2026-11-20T09:00:00Z') / 1000;
    const old = Array.from({ length: 300 }, (_, index) => ({
      ts: `${stub.nowSeconds()}.${100_000 + index}`,
      channel: CHANNEL,
      body: { text: 'lunch?', blocks: [] },
    }));
    stub.messages.push(...old);
    await withToken().deliver(aBatch([again(1)]), NEVER);
    expect(stub.calls).toEqual(['conversations.history', 'chat.postMessage']);
  });

  test.each(['missing_scope', 'not_in_channel', 'channel_not_found'])(
    'is posted again, and says so, if the app may not read the channel: %s',
    async (error) => {
      stub.methods['conversations.history'] = { body: { ok: false, error } };
      const [outcome] = await withToken().deliver(aBatch([again(1)]), NEVER);
      expect(outcome?.kind).toBe('delivered');
      expect(shown()).toContain('main:1 · possibly sent before');
    },
  );

  test.each([
    ['an error', { status: 503, body: { ok: false, error: 'service_unavailable' } }],
    ['no answer', 'cut'],
    ['the page of a proxy', { body: '<html>' }],
    ['a limit', { status: 429, headers: { 'retry-after': '3' }, body: { ok: false, error: 'ratelimited' } }],
  ] as const)('waits while Slack cannot be searched: %s', async (_, answer) => {
    stub.methods['conversations.history'] = answer;
    const failed = await withToken()
      .deliver(aBatch([again(1)]), NEVER)
      .catch((error: unknown) => error);
    expect(failed).toBeInstanceOf(SinkUnavailable);
    expect(failed).toMatchObject({ unsent: true });
    expect(stub.posts).toEqual([]);
  });

  test('is posted again through an incoming webhook, and says so', async () => {
    const delivery = aDelivery({ leadId: 1n, mayHaveArrived: true });
    await withWebhook().deliver(aBatch([delivery]), NEVER);
    expect(shown()).toContain('main:1 · possibly sent before');
    expect(stub.calls).toEqual([]);
  });
});

describe('check and test', () => {
  test('check reports that a token may not write', async () => {
    stub.methods['auth.test'] = {
      headers: { 'x-oauth-scopes': 'channels:history' },
      body: { ok: true, url: 'https://t.slack.com/', team: 'T', user: 'u' },
    };
    await expect(withToken().check(NEVER)).rejects.toMatchObject({
      hint: expect.stringContaining('chat:write'),
    });
  });

  test('check prints the next step for a wrong token, without the token', async () => {
    const sink = openSlack({ token: 'xoxb-wrong', api_url: stub.apiUrl });
    open.push(sink);
    const failed = (await sink.check(NEVER).catch((error: unknown) => error)) as SinkUnavailable;
    expect(failed.hint).toContain('put it into `token`');
    expect(`${failed.message} ${failed.hint}`).not.toContain('xoxb-wrong');
  });

  test('check of an incoming webhook sends nothing', async () => {
    await withWebhook().check(NEVER);
    expect(stub.posts).toEqual([]);
  });

  test('test reports the name of the app, and the rights that it lacks', async () => {
    const tested = testBatch('sink', new Date());
    const batch = {
      ...tested,
      deliveries: tested.deliveries.map((one) => ({ ...one, perLead: new Map([['channel', CHANNEL]]) })),
    };
    expect((await withToken().test(batch, NEVER)).what).toMatch(/leadsync in Example Team to C0123PLUMB\.$/);
    stub.methods['auth.test'] = {
      headers: { 'x-oauth-scopes': 'chat:write' },
      body: { ok: true, url: 'https://t.slack.com/', team: 'T', user: 'u' },
    };
    expect((await withToken().test(batch, NEVER)).what).toContain('channels:history');
  });

  test('test reports that the test lead has no channel', async () => {
    const { arrived, what } = await withToken().test(testBatch('sink', new Date()), NEVER);
    expect({ arrived, what }).toEqual({ arrived: false, what: expect.stringContaining('use default(') });
    expect(stub.posts).toEqual([]);
  });

  test('a preview shows no token, and no path of a webhook', () => {
    const previews = [...withToken().preview(aBatch([lead(1)])), ...withWebhook().preview(aBatch(1))];
    expect(JSON.stringify(previews)).not.toMatch(/xoxb-1|services/);
    expect(withToken().preview(aBatch([lead(1, '')]))).toMatchObject([{ target: 'no message' }]);
  });
});

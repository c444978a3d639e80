import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse as parseCsv } from 'csv-parse/sync';
import { describe, expect, onTestFinished, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { startSlackStub, TOKEN } from '../sinks/slack/slack-stub.ts';
import { aLead } from '../support/scene/a-lead.ts';
import { aScene } from '../support/scene/a-scene.ts';
import { carriers, csvFiles, type Scene } from '../support/scene/scene.ts';
import type { ReceivedRequest, WebhookReceiver } from '../support/servers/webhook-receiver.ts';
import { until } from '../support/time/until.ts';

// biome-ignore lint/suspicious/noExplicitAny: a configuration as it is written, whose shape is the test's business
type Written = any;

/** Of sinks whose requests are cut at random: after the second cut, the usual schedule waits for minutes. */
const QUICK_RETRY = { schedule: Array.from({ length: 50 }, () => '200ms') };

function rewrite(scene: Pick<Scene, 'configFile'>, change: (config: Written) => void): void {
  const config: Written = parse(readFileSync(scene.configFile, 'utf8'));
  change(config);
  writeFileSync(scene.configFile, stringify(config));
}

/** Returns the number of recorded leads, and that of pending deliveries of all sinks. */
async function stateOf(scene: Scene): Promise<{ leads: number; pending: number }> {
  const { stdout } = await scene.run('status', '--json');
  const { sources, sinks } = JSON.parse(stdout) as {
    sources: { leads: number }[];
    sinks: { pending: number }[];
  };
  const sum = (numbers: readonly number[]) => numbers.reduce((one, other) => one + other, 0);
  return { leads: sum(sources.map(({ leads }) => leads)), pending: sum(sinks.map((one) => one.pending)) };
}

/** Waits until a number of leads is recorded and every delivery has ended. */
async function settled(scene: Scene, leads: number): Promise<void> {
  await until(
    'every lead is recorded and nothing is pending',
    async () => {
      const state = await stateOf(scene);
      return state.leads === leads && state.pending === 0;
    },
    60_000,
  );
}

function eventOf({ body }: ReceivedRequest) {
  return JSON.parse(body.toString()) as {
    type: string;
    data: Record<string, unknown>;
    source: string;
    replay: boolean;
  };
}

/** Returns the ids of the leads that a receiver accepted, sorted, by the field `id` of its mapping or of the lead. */
function leadsAt({ received }: WebhookReceiver): number[] {
  const byId = new Map(
    received
      .filter(({ status }) => status === 204)
      .map((request) => [request.headers['webhook-id'], Number(eventOf(request).data['id'])]),
  );
  return [...byId.values()].sort((one, other) => one - other);
}

describe.each(carriers)('mappings (%s)', (carrier) => {
  test('leads are split between sinks by service, in the form of each sink, over kills and reloads that change the mapping', async () => {
    const owners = 'rotate(["101", "102", "103"], lead.key)';
    const fields = (version: number) => ({
      id: 'lead.id',
      'contact.owner': owners,
      version: { value: version },
    });
    const scene = await aScene(carrier, {
      stub: { leads: 0 },
      receivers: {
        plumbers: { where: 'lead.service_slug == "plumbing"' },
        others: { where: 'lead.service_slug != "plumbing"' },
        // In batches, of leads that the mapping chooses anew in each round.
        batches: {
          where: 'lead.id % 2 == 0',
          fields: fields(0),
          batch: { max: 5, wait: '100ms' },
          retry: QUICK_RETRY,
        },
      },
      sinks: {
        crm: {
          fields: fields(0),
          concurrency: 4,
          retry: QUICK_RETRY,
        },
        drop: { where: 'lead.id % 2 == 0', fields: { it: 'lead.key' }, batch: { max: 10, wait: '200ms' } },
        warehouse: { where: 'lead.id < 1010', mirror: false },
      },
    });
    const slack = await startSlackStub();
    onTestFinished(() => slack.close());
    rewrite(scene, ({ sinks }) => {
      sinks.team = {
        type: 'slack',
        token: TOKEN,
        api_url: slack.apiUrl,
        channel: 'lead.service_slug == "plumbing" ? "C0PLUMB" : "C0OTHER"',
        where: 'lead.id % 5 == 0',
        rate: '100/s',
        retry: QUICK_RETRY,
      };
    });
    // Every third request arrives, and its sender never learns so.
    const batches = scene.receivers['batches'] as WebhookReceiver;
    let requests = 0;
    for (const receiver of [scene.receiver, batches])
      receiver.answerAlways((_request, response) => {
        requests += 1;
        if (requests % 3 === 0) response.socket?.destroy();
        else response.writeHead(204).end();
      });
    let daemon = await scene.start();
    const ids: number[] = [];
    for (let round = 1; round <= 6; round += 1) {
      for (let n = 0; n < 10; n += 1) {
        const id = 1_000 + ids.length;
        ids.push(id);
        scene.stub.addRaw(aLead({ id, service_slug: id % 3 === 0 ? 'plumbing' : 'gardening' }));
      }
      const before = scene.receiver.received.length;
      await until(
        'some leads of this round arrived',
        () => scene.receiver.received.length >= before + 3,
        30_000,
      );
      slack.answerPosts('cut');
      rewrite(scene, ({ sinks }) => {
        sinks.team.title = { value: `Form ${round}` };
        sinks.crm.fields = fields(round);
        sinks.batches.fields = fields(round);
        sinks.batches.where = round % 2 === 0 ? 'lead.id % 2 == 0' : 'lead.id % 3 == 0';
      });
      if (round % 2 === 0) {
        await daemon.kill('SIGKILL');
        await scene.receiver.disconnected();
        daemon = await scene.start();
      } else {
        const reloads = () => daemon.log.filter(({ event }) => event === 'reloaded').length;
        const known = reloads();
        daemon.process.kill('SIGHUP');
        await until('the reload is told', () => reloads() > known);
      }
    }
    scene.receiver.answerAlways(204);
    batches.answerAlways(204);
    await settled(scene, ids.length);
    expect(leadsAt(scene.receivers['plumbers'] as WebhookReceiver)).toEqual(ids.filter((id) => id % 3 === 0));
    expect(leadsAt(scene.receivers['others'] as WebhookReceiver)).toEqual(ids.filter((id) => id % 3 !== 0));
    const channels = slack.messages.map(({ channel, body }) => {
      const lead = body.blocks.at(-1)?.elements?.[0]?.text ?? '';
      return [channel, Number(/\bmain:(\d+)\b/.exec(lead)?.[1])];
    });
    const ofTeam = ids.filter((id) => id % 5 === 0);
    expect(channels.toSorted(([, one], [, other]) => Number(one) - Number(other))).toEqual(
      ofTeam.map((id) => [id % 3 === 0 ? 'C0PLUMB' : 'C0OTHER', id]),
    );
    expect(slack.posts.length).toBeGreaterThanOrEqual(ofTeam.length);
    // Each webhook-id has one body, however often it was sent and whatever mapping the sink had in the meantime.
    const bodies = new Map<string, Set<string>>();
    for (const { headers, body } of scene.receiver.received) {
      const id = String(headers['webhook-id']);
      bodies.set(id, (bodies.get(id) ?? new Set()).add(body.toString()));
    }
    expect(bodies.size).toBe(ids.length);
    expect([...bodies.values()].filter(({ size }) => size > 1)).toEqual([]);
    expect(scene.receiver.received.length).toBeGreaterThan(ids.length);
    const versions = new Set(scene.receiver.received.map((request) => eventOf(request).data['version']));
    expect(versions.size).toBeGreaterThan(1);
    // No lead is in two batches, because a batch that may have arrived stays the same batch.
    const batchesOf = new Map<string, Set<string>>();
    const contents = new Map<string, Set<string>>();
    for (const { headers, body } of batches.received) {
      const id = String(headers['webhook-id']);
      contents.set(id, (contents.get(id) ?? new Set()).add(body.toString()));
      for (const event of (JSON.parse(body.toString()) as { events: { id: string }[] }).events)
        batchesOf.set(event.id, (batchesOf.get(event.id) ?? new Set()).add(id));
    }
    expect(batchesOf.size).toBeGreaterThan(10);
    expect([...batchesOf].filter(([, { size }]) => size > 1)).toEqual([]);
    expect([...contents.values()].filter(({ size }) => size > 1)).toEqual([]);
    const dropped = csvFiles(scene.drop).flatMap((name) =>
      parseCsv<Record<string, string>>(readFileSync(join(scene.drop, name)), { columns: true }),
    );
    expect(dropped.map((row) => row['it']).sort()).toEqual(
      ids.filter((id) => id % 2 === 0).map((id) => `main:${id}`),
    );
    const rows = await scene.query<{ id: string }>(`SELECT id FROM ${scene.schema}.leads ORDER BY id`);
    expect(rows.map(({ id }) => Number(id))).toEqual(ids.filter((id) => id < 1_010));
  });

  test('a lead that was left out is delivered once, as a new one, when it changes so that it belongs', async () => {
    const scene = await aScene(carrier, {
      stub: { leads: 0 },
      sinks: {
        crm: {
          where: 'lead.service_slug == "plumbing"',
          fields: { id: 'lead.id', slug: 'lead.service_slug' },
        },
      },
    });
    const gardening = aLead({ id: 7, service_slug: 'gardening' });
    scene.stub.addRaw(gardening);
    const daemon = await scene.start();
    await until('it is left out', async () => {
      const { stdout } = await scene.run('deliveries', '--sink', 'crm', '--json');
      return stdout.includes('left out by `where` of crm');
    });
    expect((await scene.run('trace', '7')).stdout).toContain('left out by `where` of crm');
    scene.stub.removeRaw(gardening);
    scene.stub.addRaw(aLead({ id: 7, service_slug: 'plumbing' }));
    await until('it is delivered', () => scene.receiver.received.length > 0);
    await settled(scene, 1);
    expect(scene.receiver.received.map(eventOf)).toMatchObject([
      { type: 'lead.created', data: { id: 7, slug: 'plumbing' } },
    ]);
    expect(daemon.log.filter(({ event }) => event === 'batch-stale')).toEqual([]);
  });

  test('after two sinks exchange their `where`, a replay of the leads that were left out delivers each lead to its sink, once', async () => {
    const [even, odd] = ['lead.id % 2 == 0', 'lead.id % 2 == 1'];
    const off = { enabled: false };
    const scene = await aScene(carrier, {
      stub: { leads: 0 },
      receivers: { one: { where: even, concurrency: 1 }, other: { where: odd, concurrency: 1 } },
      sinks: { crm: off, drop: off, warehouse: off },
    });
    const receivers = ['one', 'other'].map((name) => scene.receivers[name] as WebhookReceiver);
    const [one, other] = receivers as [WebhookReceiver, WebhookReceiver];
    const held: (() => void)[] = [];
    other.answerAlways((_request, response) => void held.push(() => response.writeHead(204).end()));
    const ids = Array.from({ length: 12 }, (_, n) => n + 1);
    for (const id of ids) scene.stub.addRaw(aLead({ id }));
    const daemon = await scene.start();
    await until('one sink has decided about every lead, and the other waits for its receiver', async () => {
      const { stdout } = await scene.run('status', '--json');
      const status = JSON.parse(stdout) as {
        sources: { leads: number }[];
        sinks: { sink: string; pending: number }[];
      };
      const pending = status.sinks.find(({ sink }) => sink === 'one')?.pending;
      return status.sources[0]?.leads === ids.length && pending === 0 && held.length === 1;
    });
    rewrite(scene, ({ sinks }) => {
      sinks.one.where = odd;
      sinks.other.where = even;
    });
    daemon.process.kill('SIGHUP');
    await until('the reload is told', () => daemon.log.some(({ event }) => event === 'reloaded'));
    expect(daemon.log.find(({ event }) => event === 'reloaded')).toMatchObject({
      changes: [
        expect.stringContaining('`leadsync replay --sink one --left-out`'),
        expect.stringContaining('`leadsync replay --sink other --left-out`'),
      ],
    });
    other.answerAlways(204);
    for (const answer of held) answer();
    await settled(scene, ids.length);
    const missing = () => {
      const there = receivers.flatMap(leadsAt);
      return ids.filter((id) => !there.includes(id));
    };
    expect(missing().length).toBeGreaterThan(3);
    const replay = async () => {
      for (const sink of ['one', 'other'])
        expect(await scene.run('replay', '--sink', sink, '--left-out')).toMatchObject({ code: 0 });
      await settled(scene, ids.length);
      expect(leadsAt(one)).toEqual(ids); // even ones before the reload, and odd ones after it
      const atOther = leadsAt(other);
      expect(atOther).toEqual([...new Set(atOther)]);
      expect(atOther.filter((id) => id % 2 === 0)).toEqual(ids.filter((id) => id % 2 === 0));
    };
    await replay();
    expect(missing()).toEqual([]);
    const messages = receivers.flatMap(({ received }) => received.map(eventOf));
    expect(messages.every((sent) => sent.type === 'lead.created' && sent.replay === false)).toBe(true);
    const sent = messages.length;
    await replay();
    expect(receivers.flatMap(({ received }) => received)).toHaveLength(sent);
  });

  test('an id has one body: after a change of the mapping, sent leads keep their body, and a retry has a new id', async () => {
    const scene = await aScene(carrier, {
      stub: { leads: 0 },
      sinks: { crm: { fields: { form: { value: 'first' } }, retry: QUICK_RETRY }, drop: { enabled: false } },
      receivers: { strict: { fields: { form: { value: 'first' } } } },
    });
    const strict = scene.receivers['strict'] as WebhookReceiver;
    scene.receiver.answerAlways(503);
    strict.answerAlways(422);
    scene.stub.addRaw(aLead({ id: 1 }));
    const daemon = await scene.start();
    // The analysts' copy knows the delivery to `strict`, with all of its attempts, by the id that it has then.
    const { schema } = scene;
    const copied = async (state: string, outcomes: string) => {
      const [delivery] = await scene.query<{ id: string; state: string }>(
        `SELECT delivery_id AS id, state FROM ${schema}.deliveries WHERE sink = 'strict'`,
      );
      const attempts = await scene.query<{ id: string; outcome: string }>(
        `SELECT delivery_id AS id, outcome FROM ${schema}.attempts WHERE sink = 'strict' ORDER BY started_at`,
      );
      const isSame =
        delivery?.state === state &&
        attempts.every(({ id }) => id === delivery.id) &&
        attempts.map(({ outcome }) => outcome).join() === outcomes;
      return isSame ? delivery.id : undefined;
    };
    await until(
      'both have answered',
      async () => scene.receiver.received.length > 0 && (await copied('dead', 'refused')) !== undefined,
    );
    rewrite(scene, ({ sinks }) => {
      for (const name of ['crm', 'strict']) sinks[name].fields.form = { value: 'second' };
    });
    daemon.process.kill('SIGHUP');
    await until('the reload is told', () => daemon.log.some(({ event }) => event === 'reloaded'));
    scene.receiver.answerAlways(204);
    strict.answerAlways(204);
    expect(await scene.run('resume', 'crm')).toMatchObject({ code: 0 });
    expect(await scene.run('retry', '--sink', 'strict')).toMatchObject({ code: 0 });
    await settled(scene, 1);
    const sent = ({ received }: WebhookReceiver) => [
      ...new Set(
        received.map((request) => `${request.headers['webhook-id']} ${eventOf(request).data['form']}`),
      ),
    ];
    const id = /^crm:main:1:1:[0-9a-f]{8}/.exec(sent(scene.receiver)[0] ?? '')?.[0].replace('crm', '');
    expect(sent(scene.receiver)).toEqual([`crm${id} first`]);
    expect(sent(strict)).toEqual([`strict${id} first`, `strict${id}:m1 second`]);
    expect(strict.received.map((request) => eventOf(request).replay)).toEqual([false, false]);
    await until(
      'PostgreSQL has both attempts under the new id',
      async () => (await copied('delivered', 'refused,delivered')) === `strict${id}:m1`,
    );
    expect((await scene.run('trace', '1')).stdout).toContain(`strict${id}:m1`);
  });

  test('an expression that fails for a lead refuses that lead alone, without text of the lead in the log', async () => {
    const scene = await aScene(carrier, {
      stub: { leads: 0 },
      sinks: { crm: { fields: { id: 'lead.id', rooms: 'int(answer("rooms"))' } } },
    });
    const answers = (answer: string) => [{ question: 'Rooms?', slug: 'rooms', answer }];
    scene.stub.addRaw(aLead({ id: 1, service_question_answers: answers('3') }));
    scene.stub.addRaw(aLead({ id: 2, service_question_answers: answers('Geheimnis') }));
    scene.stub.addRaw(aLead({ id: 3, service_question_answers: answers('5') }));
    const daemon = await scene.start();
    await until('both others are delivered', () => scene.receiver.received.length === 2);
    await settled(scene, 3);
    expect(leadsAt(scene.receiver)).toEqual([1, 3]);
    const { stdout } = await scene.run('deliveries', '--sink', 'crm', '--state', 'dead');
    expect(stdout).toContain(
      'The expression of `rooms` failed for this lead at column 1: the text is not a whole number.',
    );
    expect(daemon.stderr).not.toContain('Geheimnis');
  });
});

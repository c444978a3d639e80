import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { holdDataDir } from '../../../src/operations/opening/open-ledger.ts';
import { loginRefused, REFUSED_WAIT_MS } from '../../../src/source/auth/login-refusal.ts';
import { closedPort } from '../../sinks/ports.ts';
import { aListedLead, hashOf } from '../../support/scene/a-lead.ts';
import { attemptDue, Install } from '../an-install.ts';

const refused = { kind: 'refused', reason: 'The CRM refuses the lead (422).', httpStatus: 422 } as const;
const unavailable = { kind: 'unavailable', reason: 'The CRM does not answer.' } as const;
const delivered = { kind: 'delivered' } as const;

/** Lets a server listen until the test is over. */
async function portOf(server: Server): Promise<number> {
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return (server.address() as AddressInfo).port;
}

describe('leadsync status', () => {
  test('prints the delivered, pending and dead deliveries of each sink, and the next step for the dead', async () => {
    const install = new Install();
    const ledger = await install.listed(1, 2, 3);
    await attemptDue(ledger, 'crm', install.clock, (lead) => (lead === '2' ? refused : delivered));
    const { stdout, code } = await install.run(['status']);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^crm +webhook +has dead +2 +0 +1 +0 /m);
    expect(stdout).toMatch(/^drop +csv +healthy +0 +3 +0 +0 /m);
    expect(stdout).toMatch(
      /^crm: 1 dead delivery since \S+Z \(0 s ago\): The CRM refuses the lead \(422\)\.\n {2}`leadsync deliveries --sink crm --state dead` shows why/m,
    );
    expect(stdout).toContain('leadsync retry --sink crm --state dead');
  });

  test('says that there are no problems if there are none', async () => {
    const install = new Install();
    await install.listed(1);
    const { stdout } = await install.running().run(['status']);
    expect(stdout).toContain('Nothing needs attention.');
    expect(stdout).not.toContain('No leadsync is running');
  });

  test('notes that `where` has let nothing through for a day', async () => {
    const where = 'lead.service_slug == "palaces"';
    const install = new Install({ sinks: { drop: { type: 'csv', directory: './drop', where } } });
    const ledger = await install.listed(1, 2, 3);
    const leftOut = { kind: 'left-out', reason: 'left out by `where` of drop' } as const;
    await attemptDue(ledger, 'drop', install.clock, (lead) => (lead === '1' ? delivered : leftOut));
    expect((await install.run(['status'])).stdout).not.toContain('has left out');
    install.clock.jump(1_000);
    await install.listed(4, 5);
    await attemptDue(ledger, 'drop', install.clock, () => leftOut);
    install.clock.jump(86_400_000);
    const { stdout } = await install.run(['status']);
    expect(stdout).toContain('drop: `where` has left out all leads since the last delivery, 24 h ago: 2.');
    expect(stdout).toContain('`leadsync test drop --last 50` shows what `where` does to the last leads.');
    expect(await install.json('status')).toMatchObject({
      sinks: [{ sink: 'drop', left_out_since_delivered: 2 }, {}],
    });
  });

  test('prints since when and why a sink is held, and when it is probed', async () => {
    const install = new Install();
    const ledger = await install.listed(...Array.from({ length: 30 }, (_, i) => i + 1));
    await attemptDue(ledger, 'crm', install.clock, () => unavailable);
    install.clock.jump(180_000);
    const { stdout } = await install.run(['status']);
    expect(stdout).toContain(
      'crm has been held since 2026-11-20T10:00:00Z (3 min ago): The CRM does not answer.',
    );
    expect(stdout).toContain('Nothing is lost: 30 leads wait. The next probe is due now.');
  });

  test('names the secrets of a sink that answers 401, and how leadsync learns of a change', async () => {
    const install = new Install({
      sinks: {
        crm: {
          type: 'webhook',
          url: 'http://127.0.0.1:9/hook',
          secret: { file: './crm.secret' },
          headers: { Authorization: '${CRM_TOKEN}' },
        },
      },
    });
    const ledger = await install.listed(...Array.from({ length: 30 }, (_, i) => i + 1));
    await attemptDue(ledger, 'crm', install.clock, () => ({ ...unavailable, httpStatus: 401 }));
    const nextStep = `\`secret\` (file \`${install.folder}/crm.secret\`), \`headers.Authorization\` (environment variable \`CRM_TOKEN\`). To apply: `;
    for (const args of [['status'], ['top', '--once']])
      expect((await install.run(args)).stdout, args[0]).toContain(nextStep);
    expect(await install.json('status')).toMatchObject({
      problems: expect.arrayContaining([
        expect.objectContaining({ code: 'sink_held', next_step: expect.stringContaining(nextStep) }),
      ]),
    });
  });

  test('notes how long `rate` makes a backlog wait at least', async () => {
    const drop = { type: 'csv', directory: './drop', rate: '2/m', batch: { max: 1 } };
    const install = new Install({ sinks: { drop } });
    await install.listed(...Array.from({ length: 300 }, (_, index) => index + 1));
    const note = 'drop: `rate` lets 2 batches a minute begin, so 300 pending leads take at least 2 h.';
    expect((await install.run(['status'])).stdout).toContain(note);
    install.configure({ sinks: { drop: { ...drop, batch: { max: 300 } } } });
    expect((await install.run(['status'])).stdout).not.toContain('`rate` lets');
  });

  test('notes how much of the daily limit of a destination is used, for a day', async () => {
    const install = new Install();
    const ledger = await install.listed(1);
    const quota = { unit: 'API requests', used: 249_000, limit: 250_000, readAt: install.clock.now() };
    await attemptDue(ledger, 'crm', install.clock, () => delivered, quota);
    install.clock.jump(180_000);
    const note = 'crm: 249,000 of 250,000 API requests a day were used, as of 3 min ago.';
    expect((await install.run(['status'])).stdout).toContain(note);
    expect(await install.json('status')).toMatchObject({
      sinks: [{ quota: { unit: 'API requests', used: 249_000, limit: 250_000 } }, { quota: null }],
    });
    install.clock.jump(86_400_000);
    expect((await install.run(['status'])).stdout).not.toContain('API requests');
  });

  test('says to correct the mapping of a sink that its mapping holds', async () => {
    const install = new Install();
    const ledger = await install.listed(1, 2, 3, 4, 5);
    const reason = 'The expression of `x` failed for this lead at column 1: the text is not a number.';
    await attemptDue(ledger, 'crm', install.clock, () => ({ kind: 'refused', reason, unsent: true }));
    const { stdout } = await install.run(['status']);
    expect(stdout).toContain(`so the fault is not in the leads: ${reason}`);
    expect(stdout).toContain('  Correct the mapping, then `leadsync reload`. Nothing is lost: 5 leads wait.');
    expect(stdout).not.toContain('Fix the destination');
  });

  test('prints since when and why a sink is paused', async () => {
    const install = new Install();
    const ledger = await install.listed(1);
    await ledger.pause('crm', 'moving house');
    install.clock.jump(7_200_000);
    const { stdout } = await install.run(['status']);
    expect(stdout).toContain('crm has been paused since 2026-11-20T10:00:00Z (2 h ago): moving house');
    expect(stdout).toContain('1 lead waits. `leadsync resume crm` resumes it.');
  });

  test('prints what the running leadsync reports about itself, such as an unusable queue', async () => {
    const reason = 'Redis is a read-only replica and accepts no jobs (READONLY).';
    const server = createServer((_, res) =>
      res.writeHead(503).end(JSON.stringify({ ready: false, reasons: [reason] })),
    );
    const port = await portOf(server);
    const install = new Install({ admin: { listen: `127.0.0.1:${port}` } });
    await install.listed(1);
    install.running();
    const { stdout } = await install.run(['status']);
    expect(stdout).toContain(`leadsync is running but not ready: ${reason}`);
    expect(await install.json('status')).toMatchObject({ running: true, unready: [reason] });
  });

  test('sends the token to the running leadsync; without a token, prints the state from the ledger', async () => {
    const reason = 'The queue cannot be used.';
    const faults = ['leadsync.yaml:3:1: this is wrong'];
    const server = createServer(({ url, headers }, res) => {
      const isShown = headers.authorization === 'Bearer correct-horse-battery';
      const stale = { since: '2026-11-20T09:59:00.000Z', faults };
      if (url === '/readyz')
        res.writeHead(503).end(JSON.stringify({ ready: false, ...(isShown ? { reasons: [reason] } : {}) }));
      else if (isShown) res.end(JSON.stringify({ generation: 1, stale }));
      else res.writeHead(401).end('{"error":{}}');
    });
    const listen = `127.0.0.1:${await portOf(server)}`;
    const install = new Install({ admin: { listen, token: '${TOKEN}' } });
    await install.listed(1);
    install.running();
    const shown = await install.run(['status'], { env: { TOKEN: 'correct-horse-battery' } });
    expect(shown.stdout).toContain(`not ready: ${reason}`);
    expect(shown.stdout).toContain(
      'leadsync keeps an earlier configuration in force: the file has been invalid since 2026-11-20T09:59:00Z (60 s ago): leadsync.yaml:3:1: this is wrong\n  `leadsync validate` shows every fault',
    );
    writeFileSync(install.configFile, `${readFileSync(install.configFile, 'utf8')}wacth: true\n`);
    const faulty = await install.run(['status'], { env: { TOKEN: 'correct-horse-battery' } });
    expect(faulty.stdout).toContain('has been invalid since 2026-11-20T09:59:00Z (60 s ago).\n');
    expect(faulty.stdout).toMatch(
      /has 1 fault\. The running leadsync keeps [^\n]*\n[^\n]*unknown key "wacth"/,
    );
    writeFileSync(install.configFile, readFileSync(install.configFile, 'utf8').replace('wacth: true\n', ''));
    const bare = await install.run(['status']);
    expect(bare.stdout).toContain('not ready: leadsync reports the reason only to a client with admin.token');
    expect(bare.code).toBe(0);
  });

  test('reports that the leadsync that holds the data directory does not answer, with the reason and the next step', async () => {
    const [silent, stranger] = [createServer(() => undefined), createServer((_, res) => res.end('hello'))];
    for (const [port, why] of [
      [await portOf(silent), 'no answer within 3 s'],
      [await portOf(stranger), 'something else answers (200)'],
      [closedPort, 'no connection (ECONNREFUSED)'],
    ] as const) {
      const install = new Install({ admin: { listen: `127.0.0.1:${port}` } });
      await install.listed(1);
      const idle = await install.run(['status']);
      expect(idle.stdout).not.toContain('does not answer');
      const { stdout, code } = await install.running().run(['status']);
      const sentence = `A leadsync holds the data directory and does not answer at 127.0.0.1:${port}: ${why}. `;
      expect(stdout).toContain(`\n${sentence}`);
      expect(stdout).toContain('end that process and start leadsync again');
      expect(stdout).not.toContain('Nothing needs attention');
      expect(code).toBe(0);
      expect(await install.json('status')).toMatchObject({
        running: true,
        unready: [expect.stringContaining(sentence)],
      });
    }
  });

  test('does not call a leadsync frozen if it looked for it at the address of a faulty configuration', async () => {
    const install = new Install({ admin: { listen: `127.0.0.1:${closedPort}` } });
    await install.listed(1);
    install.running();
    writeFileSync(install.configFile, `${readFileSync(install.configFile, 'utf8')}wacth: true\n`);
    const { stdout } = await install.run(['status']);
    expect(stdout).toContain('so this may be the wrong address: fix them, and try again');
    expect(stdout).not.toContain('end that process');
  });

  test('says that no leadsync runs if it ends before it answers', async () => {
    const server = createServer();
    const install = new Install({ admin: { listen: `127.0.0.1:${await portOf(server)}` } });
    await install.listed(1);
    const held = holdDataDir(join(install.folder, 'data'));
    server.on('request', ({ socket }) => {
      held.release();
      socket.destroy();
    });
    const { stdout } = await install.run(['status']);
    expect(stdout).toContain('No leadsync is running');
    expect(stdout).not.toContain('does not answer');
  });

  test('prints why the last poll failed', async () => {
    const install = new Install();
    const ledger = await install.ledger();
    const poll = await ledger.startPoll('main');
    await ledger.finishPoll(poll, {
      status: 'failed',
      httpStatus: 500,
      error: 'server: The listing fails (500).',
    });
    const { stdout } = await install.run(['status']);
    expect(stdout).toContain(
      'main: the last poll failed: The listing fails (500).\n  `leadsync check` tries now.',
    );
    expect((await install.running().run(['status'])).stdout).toContain(
      '  leadsync retries automatically; `leadsync check` tries now.',
    );
  });

  test('says that a listing that broke off delays the leads after that place', async () => {
    const install = new Install();
    const ledger = await install.ledger();
    await ledger.finishPoll(await ledger.startPoll('main'), {
      status: 'partial',
      httpStatus: 200,
      error: 'protocol: Element 2 of the listing is not valid JSON.',
    });
    expect((await install.run(['status'])).stdout).toContain(
      'main: the last poll broke off: Element 2 of the listing is not valid JSON.\n  Leads after that point in the listing wait until a poll reads past it.',
    );
  });

  test('prints a problem of many sources once, with their names', async () => {
    const install = new Install();
    const ledger = await install.ledger();
    const names = Array.from({ length: 15 }, (_, at) => `gone${at + 10}`);
    for (const name of names)
      await ledger.finishPoll(await ledger.startPoll(name), {
        status: 'failed',
        httpStatus: 500,
        error: 'server: no',
      });
    const { stdout } = await install.run(['status']);
    expect(stdout).toContain(
      [
        'gone10 is no longer in the configuration, so leadsync does not poll it.',
        `  The same is true of ${names.slice(1, 11).join(', ')} and 4 others.`,
        '  Add it again to poll it. Its leads stay in the ledger in any case.',
      ].join('\n'),
    );
    expect(stdout.match(/no longer in the configuration/g)).toHaveLength(1);
  });

  test.each([
    [
      'refuses leadsync',
      'credentials',
      'check `client_id` and `client_secret` of the source main in the configuration, and anything else that the message names, then `leadsync reload`',
    ],
    [
      'needs a login',
      'login-needed',
      '`leadsync login main` logs a person in again; if the configuration is wrong, correct it, then `leadsync reload`',
    ],
    ['forbids the listing', 'forbidden', 'correct what the message names, then `leadsync reload`'],
  ])('prints the next step for a source that %s', async (_, code, remedy) => {
    const install = new Install();
    const ledger = await install.ledger();
    const error = `${code}: It says why.`;
    await ledger.finishPoll(await ledger.startPoll('main'), {
      status: 'failed',
      httpStatus: 401,
      error,
    });
    expect((await install.running().run(['status'])).stdout).toContain(
      `It says why.\n  Waiting does not fix this: ${remedy}; \`leadsync check\` tries now.`,
    );
  });

  test('says that leadsync tries a login again that the service refused once, and what to do if it was revoked', async () => {
    const install = new Install();
    const ledger = await install.ledger();
    const { code, message } = loginRefused('main', REFUSED_WAIT_MS);
    await ledger.finishPoll(await ledger.startPoll('main'), {
      status: 'failed',
      httpStatus: 400,
      error: `${code}: ${message}`,
    });
    expect((await install.running().run(['status'])).stdout).toContain(
      'leadsync keeps the login and asks the service again after 3 minutes. A second refusal ends the login.\n  If the login was revoked, do not wait: `leadsync login main` logs a person in again; `leadsync check` tries now.',
    );
  });

  test('says that no leadsync runs if that is so, and how to start one', async () => {
    const install = new Install();
    await install.listed(1);
    const { stdout } = await install.run(['status']);
    expect(stdout).toContain(
      'No leadsync is running on this data directory, so nothing is polled or delivered.\n  `leadsync run` starts it.',
    );
    expect(await install.json('status')).toMatchObject({ running: false });
    expect(await install.running().json('status')).toMatchObject({ running: true });
  });

  test('the check whether a leadsync runs does not prevent one from starting', async () => {
    const install = new Install();
    await install.listed(1);
    const before = await install.run(['status']);
    install.running();
    expect(before.stdout).toContain('No leadsync is running');
  });

  test('a poll is late after its own interval', async () => {
    const source = { base_url: 'http://127.0.0.1:9', client_id: 'id', client_secret: 'x' };
    for (const [every, onTimeMs, lateMs, words] of [
      ['30s', 110_000, 130_000, 'every 30 s, but was last polled 2026-11-20T10:00:00Z (2 min ago)'],
      ['1h', 7_000_000, 7_400_000, 'every 60 min, but was last polled 2026-11-20T10:00:00Z (2 h ago)'],
    ] as const) {
      const install = new Install({ sources: { main: { ...source, poll: { every } } }, sinks: {} });
      await install.listed();
      install.running().clock.jump(onTimeMs);
      expect((await install.run(['status'])).stdout).toContain('Nothing needs attention.');
      install.clock.jump(lateMs - onTimeMs);
      expect((await install.run(['status'])).stdout).toContain(
        `main should be polled ${words}.\n  See the log of leadsync.`,
      );
    }
  });

  test('a poll by cron is late after its scheduled time, and not in the hours between', async () => {
    const poll = { cron: '30 0 8-18 * * 1-5', timezone: 'UTC' };
    const source = { base_url: 'http://127.0.0.1:9', client_id: 'id', client_secret: 'x', poll };
    const install = new Install({ sources: { main: source }, sinks: {} });
    install.clock.jump(8 * 3_600_000 + 31_000); // Friday, 18:00:31
    await install.listed();
    install.running().clock.jump(60 * 3_600_000); // Monday, 6:00
    expect((await install.run(['status'])).stdout).toContain('Nothing needs attention.');
    install.clock.jump(2 * 3_600_000 + 180_000);
    expect((await install.run(['status'])).stdout).toContain(
      'main should be polled by cron "30 0 8-18 * * 1-5" (UTC), but was last polled 2026-11-20T18:00:31Z (2 days ago)',
    );
  });

  test.each([
    ['an interval', { every: '1h' }, 'every 60 min'],
    ['cron', { cron: '0 * * * *', timezone: 'UTC' }, 'by cron "0 * * * *" (UTC)'],
  ])('a poll by %s is late although the clock was set back since the last one', async (_, poll, words) => {
    const source = { base_url: 'http://127.0.0.1:9', client_id: 'id', client_secret: 'x', poll };
    const install = new Install({ sources: { main: source }, sinks: {} });
    await install.listed();
    install.running().clock.setBack(10 * 3_600_000);
    expect((await install.run(['status'])).stdout).toContain(
      `main should be polled ${words}, and no poll has started since the clock was set back: the last one is dated 2026-11-20T10:00:00Z.`,
    );
    await (await install.ledger()).clockWentBack(10 * 3_600_000);
    expect((await install.run(['status'])).stdout).toContain('Nothing needs attention.');
    install.clock.jump(2 * 3_600_000 + 300_000);
    expect((await install.run(['status'])).stdout).toContain(
      `main should be polled ${words}, but was last polled 2026-11-20T00:00:00Z (2 h ago)`,
    );
  });

  test('prints when the next poll is due by the schedule, while leadsync runs', async () => {
    const poll = { cron: '0 8 * * *', timezone: 'UTC' };
    const source = { base_url: 'http://127.0.0.1:9', client_id: 'id', client_secret: 'x', poll };
    const install = new Install({ sources: { main: source }, sinks: {} });
    await install.ledger();
    expect((await install.run(['status'])).stdout).toContain(
      'main has never been polled.\n  `leadsync run` starts the polls.',
    );
    await install.listed(1);
    expect((await install.run(['status'])).stdout).toMatch(/^main .* -$/m);
    const running = install.running();
    expect((await running.run(['status'])).stdout).toMatch(/^main .* in 22 h$/m);
    const { sources } = (await running.json('status')) as { sources: { next_poll_at: string | null }[] };
    expect(sources[0]?.next_poll_at).toBe('2026-11-21T08:00:00.000Z');
    install.clock.jump(Date.parse('2026-11-21T07:59:59.600Z') - install.clock.now().getTime());
    expect((await running.run(['status'])).stdout).toMatch(/^main .* due$/m);
  });

  test('reports that a listing is empty or has lost more than half of its leads, until they are back', async () => {
    const install = new Install();
    const upTo = (count: number) => Array.from({ length: count }, (_, index) => index + 1);
    const next = 'Check whether this is the right account';
    const said = async () => (await install.run(['status'])).stdout;
    await install.listed(...upTo(60));
    await install.listed(...upTo(31));
    expect(await said()).not.toContain(next);
    await install.listed(...upTo(29));
    expect(await said()).toContain(
      `main lists 29 leads, but listed 60 leads within the last week.\n  ${next}`,
    );
    await install.listed();
    expect(await said()).toContain('main lists no leads, but has listed 60 leads before.');
    await install.listed(...upTo(60));
    expect(await said()).not.toContain(next);
    // The one that it falls from was in force until now, however long ago it was new.
    install.clock.jump(8 * 86_400_000);
    await install.listed(...upTo(3));
    expect(await said()).toContain(`main lists 3 leads, but listed 60 leads within the last week.`);
    install.clock.jump(8 * 86_400_000);
    await install.listed(...upTo(3));
    expect(await said()).not.toContain(next);
  });

  test('a running poll is not late', async () => {
    const install = new Install();
    await (await install.ledger()).startPoll('main');
    install.running().clock.jump(600_000);
    expect((await install.run(['status'])).stdout).toContain('Nothing needs attention.');
  });

  test('reports since when leads are due and leadsync delivers nothing, with the likely cause', async () => {
    const sinks = { drop: { type: 'csv', directory: './drop', batch: { wait: '5m' }, timeout: '2m' } };
    const queue = { redis_url: 'redis://127.0.0.1:1' };
    for (const [parts, running, cause] of [
      [{ sinks }, false, 'No leadsync is running: `leadsync run` starts it.'],
      [{ sinks }, true, 'See the log of leadsync.'],
      [
        { sinks, queue },
        true,
        'Either Redis does not answer (`leadsync check` tests it), or leadsync runs with --no-deliver and no',
      ],
    ] as const) {
      const install = new Install(parts);
      await install.listed(1, 2);
      if (running) install.running().clock.jump(120_000); // an attempt may last this long
      install.clock.jump(350_000);
      expect((await install.run(['status'])).stdout).not.toContain('delivers nothing');
      install.clock.jump(20_000);
      expect((await install.run(['status'])).stdout).toContain(
        `drop: 2 leads wait, due since 2026-11-20T10:00:00Z (${running ? 8 : 6} min ago), but leadsync delivers nothing.\n  ${cause}`,
      );
    }
  });

  test('a backlog that drains is not a problem', async () => {
    const install = new Install();
    const ledger = await install.listed(1);
    install.clock.jump(600_000);
    await install.listed(1, 2);
    await attemptDue(ledger, 'crm', install.clock, (lead) => (lead === '1' ? delivered : unavailable));
    const { stdout } = await install.running().run(['status']);
    expect(stdout).not.toContain('crm: 1 lead waits');
  });

  test('prints when a held sink is probed, while leadsync runs', async () => {
    const install = new Install();
    const ledger = await install.listed(1, 2, 3, 4, 5, 6);
    await attemptDue(ledger, 'crm', install.clock, () => unavailable);
    install.clock.jump(6_000);
    await attemptDue(ledger, 'crm', install.clock, () => unavailable);
    const noted = async () => /^crm: next .*$/m.exec((await install.run(['status'])).stdout)?.[0];
    expect(await noted()).toBeUndefined();
    install.running();
    expect(await noted()).toMatch(/^crm: next probe 2026-11-20T10:00:\d\dZ \(in \d+ s\)\.$/);
    install.clock.jump(60_000);
    expect(await noted()).toBe('crm: next probe due now.');
  });

  test('shows a sink whose leads failed as retrying, with the reason and the next attempt', async () => {
    const install = new Install();
    const ledger = await install.listed(1, 2, 3);
    await attemptDue(ledger, 'crm', install.clock, (lead) => (lead === '2' ? unavailable : delivered));
    const { stdout } = await install.running().run(['status']);
    expect(stdout).toMatch(/^crm +webhook +retrying +2 +1 /m);
    expect(stdout).toContain('crm: next attempt 2026-11-20T10:00:05Z (in 5 s).\n');
    // A flaky destination would raise and end such a trouble all the time.
    expect(stdout).toContain('Nothing needs attention.');
    expect(await install.json('status')).toMatchObject({
      sinks: [
        {
          sink: 'crm',
          state: 'retrying',
          retrying: 1,
          last_error: 'The CRM does not answer.',
          next_attempt_at: '2026-11-20T10:00:05.000Z',
        },
        { state: 'healthy', retrying: 0, last_error: null, next_attempt_at: null },
      ],
    });
    install.clock.jump(4_500);
    expect((await install.run(['status'])).stdout).toContain('crm: next attempt due now.\n');
    install.clock.jump(55_500);
    await attemptDue(ledger, 'crm', install.clock, () => unavailable);
    const later = await install.run(['status']);
    expect(later.stdout).toContain('crm: 1 lead failed and waits for a retry: The CRM does not answer.');
    expect(later.stdout).toContain(
      '  The next attempt is in 5 min; `leadsync retry --sink crm --state pending` makes all of them due now.',
    );
  });

  test('the next steps name the configuration that the command was given', async () => {
    const install = new Install();
    const ledger = await install.listed(1);
    await ledger.pause('crm', 'moving house');
    const env = { LEADSYNC_CONFIG: '' };
    const { stdout } = await install.run(['status', '-c', install.configFile], { env });
    expect(stdout).toContain(`\`leadsync resume crm -c ${install.configFile}\` resumes it.`);
    expect(stdout).toContain(`\`leadsync run -c ${install.configFile}\` starts it.`);
  });

  test('shows only the age of the last delivery on a terminal of 80 columns, so that each sink has one line', async () => {
    const install = new Install();
    const ledger = await install.listed(42);
    await attemptDue(ledger, 'crm', install.clock, () => ({ kind: 'delivered' }));
    const { stdout } = await install.running().run(['status'], { columns: 80 });
    expect(stdout).toMatch(/^crm .* \d+ s ago$/m);
    const wide = await install.run(['status'], { columns: 140 });
    expect(wide.stdout).toMatch(/^crm .* 2026-11-20T10:00:\d\dZ \(\d+ s ago\)$/m);
  });

  test.each([100, 60, 40, 20])('no table is wider than a terminal of %i columns', async (columns) => {
    const install = new Install();
    await install.listed(1);
    const { stdout } = await install.running().run(['status'], { columns });
    const [tables] = stdout.split('Nothing needs attention.');
    for (const line of tables?.split('\n') ?? []) expect(line.length).toBeLessThanOrEqual(columns);
    for (const word of ['main', 'crm', 'drop', 'SOURCE', 'SINK', 'PENDING']) expect(tables).toContain(word);
  });

  test('counts the rejected leads', async () => {
    const install = new Install();
    const raw = '{"id":7}';
    const reason = 'is missing';
    await install.recorded([
      aListedLead({ id: 1 }),
      { kind: 'rejected', position: 1, id: 7n, raw, hash: hashOf(raw), reason, path: 'client_name' },
    ]);
    const { stdout } = await install.run(['status']);
    expect(stdout).toContain('main: 1 lead in the last complete listing');
    expect(await install.json('status')).toMatchObject({ sources: [{ leads_rejected: 1 }] });
  });

  test('distinguishes a sink that has not run yet, one that is disabled, and one that was removed', async () => {
    const first = new Install();
    const ledger = await first.listed(1);
    await ledger.pause('drop', 'no matter');
    const install = new Install({
      data_dir: `${first.folder}/data`,
      sinks: {
        crm: { type: 'csv', directory: './crm', enabled: false },
        fresh: { type: 'csv', directory: './fresh' },
      },
    });
    const { stdout } = await install.run(['status']);
    expect(stdout).toMatch(/^crm +csv +disabled /m);
    expect(stdout).toMatch(/^fresh +csv +new +- /m);
    expect(stdout).toMatch(/^drop +- +orphaned /m);
    expect(stdout).toContain('drop is no longer in the configuration; 1 lead waits');
    await ledger.declareSinks([{ name: 'crm', events: ['created'], backfill: true }]);
    expect((await install.run(['forget', 'drop', '--yes'])).stdout).toBe('1 delivery of drop skipped.\n');
    // A removed sink without pending or dead deliveries is found only by its name.
    expect((await install.run(['status'])).stdout).not.toContain('drop');
    expect((await install.run(['top', '--once'])).stdout).not.toContain('drop');
    expect((await install.run(['deliveries', '--sink', 'drop'])).stdout).toMatch(/drop:main:1:1.* skipped/);
  });

  test('shows a removed sink until its dead deliveries are discarded, and does not suggest a retry', async () => {
    const install = new Install();
    const ledger = await install.listed(1, 2);
    await attemptDue(ledger, 'crm', install.clock, () => refused);
    install.configure({ sinks: { drop: { type: 'csv', directory: './drop' } } });
    await ledger.declareSinks([{ name: 'drop', events: ['created'], backfill: true }]);
    const { stdout } = await install.running().run(['status']);
    expect(stdout).toMatch(/^crm +- +orphaned +0 +0 +2 /m);
    expect(stdout).toContain(
      'crm is no longer in the configuration, and has 2 dead deliveries since 2026-11-20T10:00:00Z (0 s ago): The CRM refuses the lead (422).',
    );
    expect(stdout).not.toContain('leadsync retry');
    const discard = ['discard', '--sink', 'crm', '--note', 'moved to another CRM'];
    expect((await install.run(discard)).stdout).toBe('2 deliveries are discarded.\n');
    expect((await install.run(['status'])).stdout).not.toContain('crm');
  });

  test('prints the same as JSON, with the names of the public tables, and null for a missing value', async () => {
    const install = new Install();
    const ledger = await install.listed(1, 2);
    await ledger.pause('crm', 'moving house');
    expect(await install.json('status')).toEqual({
      installation: null,
      running: false,
      unready: [],
      healthy: false,
      problems: [
        expect.objectContaining({ code: 'not_running' }),
        expect.objectContaining({ code: 'sink_paused' }),
      ],
      config_stale: null,
      config_faults: [],
      sources: [
        {
          source: 'main',
          configured: true,
          leads: 2,
          leads_listed: 2,
          leads_rejected: 0,
          last_success_at: '2026-11-20T10:00:00.000Z',
          last_poll: {
            poll_id: 1,
            started_at: '2026-11-20T10:00:00.000Z',
            finished_at: '2026-11-20T10:00:00.000Z',
            status: 'success',
            leads_listed: 2,
            leads_new: 2,
            leads_changed: 0,
            leads_rejected: 0,
            error: null,
          },
          next_poll_at: '2026-11-20T10:00:30.000Z',
        },
      ],
      exports: [],
      backups: [],
      machines: [],
      sinks: [
        expect.objectContaining({
          sink: 'crm',
          type: 'webhook',
          state: 'paused',
          pending: 2,
          paused_since: '2026-11-20T10:00:00.000Z',
          paused_reason: 'moving house',
          held_since: null,
        }),
        expect.objectContaining({
          sink: 'drop',
          state: 'healthy',
          dead: 0,
          oldest_owed_at: '2026-11-20T10:00:00.000Z',
        }),
      ],
    });
  });

  test('escapes control characters on a terminal', async () => {
    const install = new Install();
    const ledger = await install.listed(1);
    await ledger.pause('crm', 'a\u001b[31mred\nline \u202egnirts\u009b2J');
    const { stdout } = await install.run(['status']);
    expect(stdout).toContain('a\\u001b[31mred\\u000aline \\u202egnirts\\u009b2J');
    const json = await install.run(['status', '--json']);
    expect(json.stdout).toContain('\\u202egnirts\\u009b2J');
    expect(JSON.parse(json.stdout).sinks[0].paused_reason).toBe('a\u001b[31mred\nline \u202egnirts\u009b2J');
  });

  test('says where the ledger should be if there is none, and which command creates it', async () => {
    const install = new Install();
    const { code, stderr, stdout } = await install.run(['status']);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toContain('There is no ledger at');
    expect(stderr).toContain('leadsync run');
  });

  test('prints the faults of the configuration, and below them where the ledger should be if there is none', async () => {
    const install = new Install({ wacth: true });
    const { code, stdout, stderr } = await install.run(['status']);
    expect({ code, stdout }).toEqual({ code: 78, stdout: '' });
    expect(stderr).toMatch(/unknown key "wacth"; did you mean "watch"\?\nThere is no ledger at/);
  });
});

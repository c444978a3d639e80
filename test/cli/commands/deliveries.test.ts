import { describe, expect, test } from 'vitest';
import { attemptDue, Install } from '../an-install.ts';

const refused = { kind: 'refused', reason: 'The CRM refuses the lead (422).', httpStatus: 422 } as const;
const delivered = { kind: 'delivered' } as const;
const HOUR_MS = 3_600_000;

async function someDead() {
  const install = new Install();
  const ledger = await install.listed(1, 2, 3);
  await attemptDue(ledger, 'crm', install.clock, (lead) => (lead === '2' ? refused : delivered));
  return { install, ledger };
}

describe('leadsync deliveries', () => {
  test('prints the reason of each dead delivery', async () => {
    const { install } = await someDead();
    const { stdout, code } = await install.run(['deliveries', '--state', 'dead']);
    expect(code).toBe(0);
    const [head, line, ...more] = stdout.trimEnd().split('\n');
    expect(head).toMatch(/^OWED +DELIVERY +STATE +ATTEMPTS +HTTP +TOOK +DETAIL/);
    expect(line).toMatch(
      /^2026-11-20T10:00:00Z \(0 s ago\) +crm:main:2:1:[0-9a-f]{8} +dead +1 +422 +15 ms +.*The CRM refuses the lead \(422\)\.$/,
    );
    expect(more).toEqual([]);
  });

  test('prints CSV with the columns of the pages, in which no text is a formula', async () => {
    const install = new Install();
    const ledger = await install.listed(1);
    const outcome = { ...refused, reason: '=1+1, "so"' };
    await attemptDue(ledger, 'crm', install.clock, () => outcome);
    const { stdout } = await install.run(['deliveries', '--csv', '--state', 'dead']);
    const [head, line, ...more] = stdout.split('\r\n');
    expect(head).toMatch(/^delivery_id,source,lead_id,lead_version,sink,event,state,reason,/);
    expect(line).toMatch(/^crm:main:1:1:[0-9a-f]{8},main,1,1,crm,created,dead,"'=1\+1, ""so""",1,false,/);
    expect(more).toEqual(['']);
    expect((await install.run(['deliveries', '--csv', '--reasons'])).code).toBe(2);
    expect((await install.run(['deliveries', '--csv', '--json'])).code).toBe(2);
  });

  test('shows the status and the duration of the last attempt where the terminal is wide enough', async () => {
    const install = new Install();
    const ledger = await install.listed(1);
    const answers = [{ kind: 'unavailable', reason: 'It is down.', httpStatus: 503 } as const, refused];
    for (const outcome of answers) {
      await attemptDue(ledger, 'crm', install.clock, () => outcome);
      install.clock.jump(HOUR_MS);
    }
    const line = async (columns: number) =>
      (await install.run(['deliveries', '--sink', 'crm'], { columns })).stdout.replace(/\s+/g, ' ');
    expect(await line(160)).toMatch(/ dead \d 422 15 ms /);
    expect(await line(100)).toMatch(/ATTEMPTS DETAIL/);
    expect((await install.run(['deliveries', '--sink', 'drop'])).stdout).toMatch(/ pending +0 +- +- /);
  });

  test('finds the deliveries of a webhook-id', async () => {
    const { install, ledger } = await someDead();
    const [delivery] = await ledger.deliveries({ sink: 'crm', lead: 3n }, { limit: 1 });
    const found = await install.json('deliveries', '--webhook-id', delivery?.delivery ?? '');
    expect(found).toMatchObject({ deliveries: [{ lead_id: '3', sink: 'crm' }], more: false });
    expect((await install.run(['deliveries', '--webhook-id', 'x'])).stderr).toBe('No delivery matches.\n');
  });

  test('counts dead and failed deliveries by reason, over all sinks, with --reasons', async () => {
    const { install } = await someDead();
    const { stdout, code } = await install.run(['deliveries', '--reasons']);
    expect(code).toBe(0);
    expect(
      stdout
        .trimEnd()
        .split('\n')
        .map((line) => line.trimEnd().replace(/ +/g, ' ')),
    ).toEqual(['STATE DELIVERIES SINKS REASON', 'dead 1 crm 1 The CRM refuses the lead (422).']);
    const reason = 'The CRM refuses the lead (422).';
    expect(await install.json('deliveries', '--reasons')).toEqual({
      rows: [{ state: 'dead', reason, deliveries: 1, sinks: [{ sink: 'crm', deliveries: 1 }] }],
      others: 0,
      complete: true,
    });
    const refused = await install.run(['deliveries', '--reasons', '--sink', 'crm']);
    expect(refused.code).toBe(2);
    expect(refused.stderr).toContain('--reasons counts the deliveries of all sinks');
    expect((await new Install().run(['deliveries', '--reasons'])).code).not.toBe(2);
  });

  test('prints the next step for dead deliveries, and nothing of it if there are none', async () => {
    const { install } = await someDead();
    const { stderr } = await install.run(['deliveries', '--state', 'dead']);
    expect(stderr).toContain("`leadsync trace LEAD --show-data` shows the destination's answers.");
    expect(stderr).toContain('or all of a sink with `leadsync retry --sink SINK --state dead`.');
    expect((await install.run(['deliveries', '--sink', 'drop'])).stderr).toBe('');
  });

  test('says that answers to an erasure request are not stored', async () => {
    const { install, ledger } = await someDead();
    await ledger.erase({ leads: [{ source: 'main', leadId: 1n }], rejected: [] }, ['crm']);
    await attemptDue(ledger, 'crm', install.clock, () => refused);
    const said = async (...args: string[]) => (await install.run(['deliveries', ...args])).stderr;
    expect(await said('--lead', '1')).toMatch(/^Answers to an erasure request are not stored: /);
    expect(await said()).toMatch(/^`leadsync trace LEAD --show-data` shows .* are not stored: /);
  });

  test('does not call a delivery due while it waits for its batch or its sink', async () => {
    const { install, ledger } = await someDead();
    const shown = async () => (await install.run(['deliveries', '--sink', 'drop', '--limit', '1'])).stdout;
    expect(await shown()).toMatch(/waits for its batch until 2026-11-20T10:\S+ \(in .*\) at the latest\n/);
    expect(await install.json('deliveries', '--sink', 'drop', '--limit', '1')).toMatchObject({
      deliveries: [{ waits_for_batch_until: expect.stringMatching(/^2026-11-20T10:/) }],
    });
    install.clock.jump(HOUR_MS);
    expect(await shown()).toContain('due now');
    await ledger.pause('drop', 'moving house');
    expect(await shown()).toContain('waits until its sink is resumed');
  });

  test('lists the newest first, and says if there are more', async () => {
    const { install } = await someDead();
    const { stdout, stderr } = await install.run(['deliveries', '--sink', 'crm', '--limit', '2']);
    expect([...stdout.matchAll(/crm:main:(\d)/g)].map(([, lead]) => lead)).toEqual(['3', '2']);
    expect(stderr).toMatch(
      /^These are the newest 2; there are more\. Continue with --before crm:main:2:1:[0-9a-f]{8} or a higher --limit\./,
    );
    const before = /--before (\S+)/.exec(stderr)?.[1] ?? '';
    const next = await install.run(['deliveries', '--sink', 'crm', '--limit', '2', '--before', before]);
    expect(next.stdout).toContain('crm:main:1:');
    expect(next.stderr).not.toContain('there are more');
  });

  test('does not mention more deliveries if the page has all', async () => {
    const { install } = await someDead();
    const { stderr } = await install.run(['deliveries', '--sink', 'crm', '--limit', '3']);
    expect(stderr).not.toContain('there are more');
  });

  test('filters by sink, state, source, lead and time', async () => {
    const { install } = await someDead();
    const idsOf = async (...args: string[]) => {
      const { deliveries } = (await install.json('deliveries', ...args)) as {
        deliveries: { sink: string; lead_id: string }[];
      };
      return deliveries.map(({ sink, lead_id }) => `${sink} ${lead_id}`).sort();
    };
    expect(await idsOf('--state', 'delivered')).toEqual(['crm 1', 'crm 3']);
    expect(await idsOf('--state', 'dead', 'pending', '--lead', '2')).toEqual(['crm 2', 'drop 2']);
    expect(await idsOf('--source', 'main', '--sink', 'drop')).toEqual(['drop 1', 'drop 2', 'drop 3']);
    install.clock.jump(7_200_000);
    expect(await idsOf('--since', '1h')).toEqual([]);
    expect(await idsOf('--since', '3h', '--lead', '1')).toEqual(['crm 1', 'drop 1']);
    expect(await idsOf('--until', '2026-11-20T10:00')).toEqual([]);
    expect(await idsOf('--until', '2026-11-20T21:00:01+11:00', '--lead', '1')).toEqual(['crm 1', 'drop 1']);
  });

  test('prints the record of a delivered lead at the destination, and its address', async () => {
    const { install, ledger } = await someDead();
    await ledger.retry({ sink: 'crm', states: ['dead'] });
    const ref = { object: 'deal', id: '9001', url: 'https://crm.example.com/deals/9001' };
    await attemptDue(ledger, 'crm', install.clock, () => ({
      ...delivered,
      ref,
      remark: 'It took no email.',
    }));
    const { stdout } = await install.run(['deliveries', '--sink', 'crm', '--lead', '2']);
    expect(stdout).toMatch(
      / delivered .*\(0 s ago\); deal 9001 \(https:\/\/crm\.example\.com\/deals\/9001\); It took no email\.$/m,
    );
    const { deliveries } = (await install.json('deliveries', '--sink', 'crm')) as {
      deliveries: { lead_id: string; ref: unknown }[];
    };
    expect(deliveries.map(({ lead_id, ref: became }) => [lead_id, became])).toEqual([
      ['3', null],
      ['2', ref],
      ['1', null],
    ]);
  });

  test('prints JSON with the names of the public tables', async () => {
    const { install } = await someDead();
    expect(await install.json('deliveries', '--state', 'dead')).toEqual({
      deliveries: [
        {
          delivery_id: expect.stringMatching(/^crm:main:2:1:[0-9a-f]{8}$/),
          source: 'main',
          lead_id: '2',
          lead_version: 1,
          event: 'created',
          sink: 'crm',
          state: 'dead',
          reason: expect.stringContaining('The CRM refuses the lead (422).'),
          attempts: 1,
          attempts_made: 1,
          last_http_status: 422,
          last_duration_ms: 15,
          has_answer: false,
          owed_at: '2026-11-20T10:00:00.000Z',
          next_attempt_at: null,
          settled_at: '2026-11-20T10:00:00.000Z',
          discarded: false,
          ref: null,
          replay: false,
          waits_for_batch_until: null,
        },
      ],
      more: false,
    });
  });

  test.each([120, 80, 60, 30])('no line is wider than a terminal of %i columns', async (columns) => {
    const { install } = await someDead();
    const { stdout } = await install.run(['deliveries'], { columns });
    expect(stdout).toContain('crm:main:2:1:');
    for (const line of stdout.split('\n')) expect([...line].length).toBeLessThanOrEqual(columns);
  });

  test('says so if nothing matches', async () => {
    const { install } = await someDead();
    const { stdout, stderr, code } = await install.run(['deliveries', '--state', 'skipped']);
    expect({ stdout, stderr, code }).toEqual({ stdout: '', stderr: 'No delivery matches.\n', code: 0 });
  });

  test('says how far it searched for a batch that it does not find, unless another option excludes it', async () => {
    const { install } = await someDead();
    const batch = `batch_${'0'.repeat(32)}`;
    const { stdout, stderr, code } = await install.run(['deliveries', '--webhook-id', batch]);
    expect({ stdout, code }).toEqual({ stdout: '', code: 0 });
    expect(stderr).toMatch(
      /^None of the last 20,000 attempts sent a batch with this webhook-id\. .*`id` of an event/,
    );
    const one = await install.run(['deliveries', '--webhook-id', 'crm:main:77:1:0a1b2c3d']);
    expect(one.stderr).toBe('No delivery matches.\n');
  });

  test.each([
    [['--sink', 'cmr'], 'There is no sink "cmr": did you mean "crm"?\nThe sinks are: crm, drop.'],
    [['--source', 'x'], 'There is no source "x".\nThe sources are: main.'],
    [['--state', 'deed'], 'Allowed choices are pending, delivered, dead, skipped'],
    [['--limit', '0'], 'It must be a number from 1 to 100000'],
    [['--lead', 'abc'], "'abc' is not a lead id: a whole number from 1 to 9223372036854775807."],
    [['--lead', '9223372036854775808'], "'9223372036854775808' is not a lead id: a whole number from 1 to"],
    [['--lead', '0'], "'0' is not a lead id"],
    [['--lead', '1', '--lead', '2'], '--lead takes one lead, but got 1 and 2.'],
    [['--before', 'nope'], 'There is no delivery "nope" to continue after.'],
    [['--since', 'yesterday'], 'how long ago: 2h, 1d'],
    [['--since', '2026-02-30'], 'how long ago: 2h, 1d'],
    [['--since', '1h', '--until', '2h'], 'There is no time between'],
    [['--jsn'], 'Did you mean --json?'],
    [['crm'], 'too many arguments'],
  ])('rejects %j as wrong usage, with the right one', async (args, message) => {
    const { install } = await someDead();
    const { code, stderr, stdout } = await install.run(['deliveries', ...args]);
    expect(stderr).toContain(message);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  });
});

import { describe, expect, test } from 'vitest';
import { aListedLead, hashOf } from '../support/a-lead.ts';
import { attemptDue, Install } from './an-install.ts';

const refused = { kind: 'refused', reason: 'The CRM refuses the lead (422).', httpStatus: 422 } as const;
const unavailable = { kind: 'unavailable', reason: 'The CRM does not answer.' } as const;
const delivered = { kind: 'delivered' } as const;

describe('leadsync status', () => {
  test('shows what is delivered, pending and dead for each sink, and what to do about the dead', async () => {
    const install = new Install();
    const ledger = await install.listed(1, 2, 3);
    await attemptDue(ledger, 'crm', install.clock, (lead) => (lead === '2' ? refused : delivered));
    const { stdout, code } = await install.run(['status']);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^crm +webhook +ok +2 +0 +1 +0 /m);
    expect(stdout).toMatch(/^drop +csv +ok +0 +3 +0 +0 /m);
    expect(stdout).toContain('crm: 1 lead died. `leadsync deliveries --sink crm --state dead` says why');
    expect(stdout).toContain('leadsync retry --sink crm --state dead');
  });

  test('says that nothing needs attention when that is so', async () => {
    const install = new Install();
    await install.listed(1);
    const { stdout } = await install.run(['status']);
    expect(stdout).toContain('Nothing needs attention.');
  });

  test('says since when and why a sink is held, and when it is tried again', async () => {
    const install = new Install();
    const ledger = await install.listed(...Array.from({ length: 30 }, (_, i) => i + 1));
    await attemptDue(ledger, 'crm', install.clock, () => unavailable);
    install.clock.jump(180_000);
    const { stdout } = await install.run(['status']);
    expect(stdout).toContain('crm is held since 2026-11-20T10:00:00Z (3 min ago): The CRM does not answer.');
    expect(stdout).toContain('Nothing is lost: 30 leads wait. The next try is ');
    expect(stdout).toContain('`leadsync resume crm` tries now');
  });

  test('says since when and why a sink is paused', async () => {
    const install = new Install();
    const ledger = await install.listed(1);
    await ledger.pause('crm', 'moving house');
    install.clock.jump(7_200_000);
    const { stdout } = await install.run(['status']);
    expect(stdout).toContain('crm is paused since 2026-11-20T10:00:00Z (2 h ago): moving house');
    expect(stdout).toContain('1 lead waits. `leadsync resume crm` goes on.');
  });

  test('says why the last poll failed', async () => {
    const install = new Install();
    const ledger = await install.ledger();
    const poll = await ledger.startPoll('main');
    await ledger.finishPoll(poll, {
      status: 'failed',
      httpStatus: 500,
      error: 'server: The listing fails (500).',
    });
    const { stdout } = await install.run(['status']);
    expect(stdout).toContain('main: the last poll failed: server: The listing fails (500).');
  });

  test('asks whether leadsync runs when a poll is long overdue', async () => {
    const install = new Install();
    await install.listed(1);
    expect((await install.run(['status'])).stdout).not.toContain('is `leadsync run` running?');
    install.clock.jump(3_600_000);
    expect((await install.run(['status'])).stdout).toContain(
      'main is polled every 30 s, and was last polled 60 min ago: is `leadsync run` running?',
    );
  });

  test('counts the leads that were set aside', async () => {
    const install = new Install();
    const raw = '{"id":7}';
    const reason = 'is missing';
    await install.recorded([
      aListedLead({ id: 1 }),
      { kind: 'rejected', position: 1, id: 7n, raw, hash: hashOf(raw), reason, path: 'client_name' },
    ]);
    const { stdout } = await install.run(['status']);
    expect(stdout).toContain('main: 1 lead of the last complete listing');
    expect(await install.json('status')).toMatchObject({ sources: [{ leads_rejected: 1 }] });
  });

  test('knows a sink that is configured and has not run, one that is disabled, and one that was removed', async () => {
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
    expect(stdout).toMatch(/^drop +- +removed /m);
    expect(stdout).toContain('drop is not in the configuration any more; 1 lead waits');
  });

  test('prints the same as JSON, by the names of the store, with null for what is not there', async () => {
    const install = new Install();
    const ledger = await install.listed(1, 2);
    await ledger.pause('crm', 'moving house');
    expect(await install.json('status')).toEqual({
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
        },
      ],
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
          state: 'ok',
          dead: 0,
          oldest_owed_at: '2026-11-20T10:00:00.000Z',
        }),
      ],
    });
  });

  test('shows what a terminal would obey, in place of obeying it', async () => {
    const install = new Install();
    const ledger = await install.listed(1);
    await ledger.pause('crm', 'a\u001b[31mred\nline \u202egnirts\u009b2J');
    const { stdout } = await install.run(['status']);
    expect(stdout).toContain('a\\u001b[31mred\\u000aline \\u202egnirts\\u009b2J');
    const json = await install.run(['status', '--json']);
    expect(json.stdout).toContain('\\u202egnirts\\u009b2J');
    expect(JSON.parse(json.stdout).sinks[0].paused_reason).toBe('a\u001b[31mred\nline \u202egnirts\u009b2J');
  });

  test('says where the ledger should be when there is none, and who makes it', async () => {
    const install = new Install();
    const { code, stderr, stdout } = await install.run(['status']);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toContain('There is no ledger at');
    expect(stderr).toContain('leadsync run');
  });
});

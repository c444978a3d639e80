import { writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { SinkDetail } from '../../../src/admin/contract/sinks.ts';
import { aListedLead } from '../../support/scene/a-lead.ts';
import { attemptDue, Install } from '../an-install.ts';

const refused = { kind: 'refused', reason: 'The CRM refuses the lead (422).', httpStatus: 422 } as const;
const unavailable = { kind: 'unavailable', reason: 'The CRM does not answer.' } as const;
const delivered = { kind: 'delivered', httpStatus: 200 } as const;

/** A sink that delivered 29 leads, refused 4 and then failed until it was held, three minutes ago. */
async function aHeldSink(): Promise<Install> {
  const install = new Install();
  const ledger = await install.listed(...Array.from({ length: 60 }, (_, i) => i + 1));
  await attemptDue(ledger, 'crm', install.clock, (lead) => {
    if (Number(lead) < 30) return delivered;
    return Number(lead) < 34 ? refused : unavailable;
  });
  install.clock.jump(180_000);
  return install;
}

describe('leadsync status SINK', () => {
  test('says why a sink is held, how it recovers, what it did, what it is owed and what it tried last', async () => {
    const { stdout, code } = await (await aHeldSink()).run(['status', 'crm']);
    expect(code).toBe(0);
    expect(stdout).toContain(
      'crm (webhook) has been held since 2026-11-20T10:00:00Z (3 min ago): The CRM does not answer.',
    );
    expect(stdout).toContain('It is held because 18 of its last 20 batches failed. No probe has failed yet.');
    expect(stdout).toContain(
      'Failure rate before the hold 35.3% of the last 51 batches; concurrent batches 1 of 10.',
    );
    expect(stdout).toContain('Next probe: 2026-11-20T10:00:05Z');
    expect(stdout).toMatch(
      /^51 attempts since 2026-11-19T10:10:00Z .*: 56.8% delivered\. Batches took .* \(p50\), .* \(p95\)\./m,
    );
    expect(stdout).toContain('No attempt before 2026-11-20T10:00:00Z (3 min ago) is counted.');
    expect(stdout).toMatch(/^refused +422 +4$/m);
    expect(stdout).toMatch(/^ +18 +The CRM does not answer\.$/m);
    expect(stdout).toMatch(/^ +27 +1 min to 10 min$/m);
    expect(stdout).toMatch(/^dead +4 +The CRM refuses the lead \(422\)\.$/m);
    expect(stdout).toMatch(/^2026-11-20T10:00:00Z \(3 min ago\) +held +still +The CRM does not answer\.$/m);
    expect(stdout).toMatch(/ main:51 +unavailable +- +/);
    expect(stdout).not.toContain('canary');
  });

  test('says where the sink delivers, with secrets masked', async () => {
    const install = new Install();
    await install.listed(1);
    expect((await install.run(['status', 'drop'])).stdout).toMatch(/^Delivers to \S*drop\.$/m);
    expect((await install.run(['status', 'crm'])).stdout).toContain(
      'Delivers to http://127.0.0.1:9/[secret].\n',
    );
  });

  test('shows the last failed attempts, however many succeeded since', async () => {
    const install = new Install();
    const ledger = await install.listed(...Array.from({ length: 20 }, (_, i) => i + 1));
    await attemptDue(ledger, 'crm', install.clock, (lead) => (lead === '1' ? refused : delivered));
    const { stdout } = await install.run(['status', 'crm']);
    const [last, failed] = stdout.slice(stdout.indexOf('LAST ATTEMPTS')).split('LAST FAILED');
    expect(last).not.toContain('main:1 ');
    expect(failed).toMatch(/ main:1 +refused +422 .*The CRM refuses the lead/);
    expect((await (await aHeldSink()).run(['status', 'crm'])).stdout).not.toContain('LAST FAILED');
  });

  test('prints the JSON that the API returns, with masked secrets', async () => {
    const detail = SinkDetail.parse(await (await aHeldSink()).json('status', 'crm', '--period', '1h'));
    expect(detail).toMatchObject({
      sink: 'crm',
      state: 'held',
      period: '1h',
      since: '2026-11-20T10:00:00.000Z',
      period_start: '2026-11-20T09:10:00.000Z',
      attempts: { delivered: 29, refused: 4, unavailable: 18 },
    });
    expect(detail.series).toHaveLength(6);
    expect(detail.options).toContainEqual(expect.objectContaining({ option: 'secret', value: '[secret]' }));
  });

  test('says how fast new leads were delivered, and nothing about leads that were there before', async () => {
    const install = new Install();
    const ledger = await install.listed(1);
    await attemptDue(ledger, 'crm', install.clock, () => delivered);
    expect((await install.run(['status', 'crm'])).stdout).not.toContain('Speed to lead');
    install.clock.jump(60_000);
    const created_at = install.clock.now().toISOString();
    await install.recorded([aListedLead({ id: 1 }), aListedLead({ id: 2, created_at }, 1)]);
    install.clock.jump(2_000);
    await attemptDue(ledger, 'crm', install.clock, () => delivered);
    expect((await install.run(['status', 'crm'])).stdout).toContain(
      'Speed to lead for 1 new lead: 2 s (p50), 2 s (p95).\n',
    );
  });

  test('shows a sink that never attempted anything, and one of a configuration with faults', async () => {
    const install = await aHeldSink();
    const { stdout } = await install.run(['status', 'drop']);
    expect(stdout).toContain('drop (csv) is healthy\n');
    expect(stdout).toMatch(/^No attempt since 2026-11-19T10:10:00Z/m);
    writeFileSync(install.configFile, 'wacth: true\n', { flag: 'a' });
    expect((await install.run(['status', 'crm'])).stdout).toContain('has been held since');
  });

  test.each([
    [['status', 'cmr'], 'There is no sink "cmr": did you mean "crm"?'],
    [['status', '--period', '7d'], '--period needs a sink.'],
    [['status', 'crm', '--check'], '--check is for all sinks.'],
    [['status', 'crm', '--period', '2d'], 'Allowed choices are 1h, 24h, 7d.'],
  ])('refuses %j', async (args, why) => {
    const install = new Install();
    await install.listed(1);
    const { code, stderr } = await install.run(args);
    expect(code).toBe(2);
    expect(stderr).toContain(why);
  });
});

test('leadsync status explains the circuit breaker of a sink that is held, recovers or often fails', async () => {
  const install = await aHeldSink();
  const explained = 'crm: It is held because 18 of its last 20 batches failed.';
  expect((await install.run(['status'])).stdout).toContain(explained);
  expect(await install.json('status')).toMatchObject({
    sinks: [
      { breaker: { failed_probes: 0, concurrency: 1, max_concurrency: 10 } },
      { breaker: { explanation: null } },
    ],
  });
  const ledger = await install.ledger();
  await attemptDue(ledger, 'crm', install.clock, () => delivered);
  expect((await install.run(['status'])).stdout).toMatch(
    /^crm: It is recovering from a hold: it gets \d+ batches at a time now, and one more with each answer, up to 10\./m,
  );
});

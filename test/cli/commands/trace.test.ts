import { describe, expect, test } from 'vitest';
import { hashOf } from '../../support/scene/a-lead.ts';
import { attemptDue, Install } from '../an-install.ts';

const refused = {
  kind: 'refused',
  reason: 'The CRM refuses the lead (422).',
  httpStatus: 422,
  answer: 'no such person: anna\u001b[2J@example.com',
} as const;

async function aRefusedLead() {
  const install = new Install();
  const ledger = await install.listed(42);
  install.clock.jump(1_500);
  await attemptDue(ledger, 'crm', install.clock, () => refused);
  return install;
}

describe('leadsync trace', () => {
  test('prints the history of a lead in chronological order, with the ids that its receivers have', async () => {
    const install = await aRefusedLead();
    const { stdout, code } = await install.run(['trace', '42']);
    expect(code).toBe(0);
    const lines = stdout.trimEnd().split('\n');
    expect(lines[0]).toMatch(/^AT +AFTER +WHAT +DELIVERY +DETAIL$/);
    expect(lines[1]).toMatch(/^2026-11-20T10:00:00\.000Z +listed +source main, poll 1, version 1$/);
    expect(stdout).toMatch(/^2026-11-20T10:00:00\.000Z +owed +2 sinks +created: crm, drop$/m);
    expect(stdout).toMatch(
      /^2026-11-20T10:00:01\.515Z +\+15 ms +refused +crm:main:42:1:[0-9a-f]{8} +15 ms, HTTP 422, The CRM/m,
    );
    expect(stdout).toMatch(/ dead +crm:main:42:1:/);
    const times = lines.slice(1).map((line) => line.split(' ', 1)[0] ?? '');
    expect(times).toEqual([...times].sort());
  });

  test('prints the answers of destinations only with --show-data, and escapes them', async () => {
    const install = await aRefusedLead();
    const hidden = await install.run(['trace', '42']);
    expect(hidden.stdout).not.toContain('anna');
    expect(JSON.stringify(await install.json('trace', '42'))).not.toContain('anna');
    const { stdout } = await install.run(['trace', '42', '--show-data']);
    expect(stdout).toContain('answer: no such person: anna\\u001b[2J@example.com');
    const json = JSON.stringify(await install.json('trace', '42', '--show-data'));
    expect(json).toContain('anna');
  });

  test('prints the record of the lead at the destination', async () => {
    const install = new Install();
    const ledger = await install.listed(42);
    const ref = { object: 'message', id: 'C01/17.5', url: 'https://chat.example.com/archives/C01/p175' };
    await attemptDue(ledger, 'crm', install.clock, () => ({
      kind: 'delivered',
      ref,
      remark: 'It took no email.',
    }));
    const { stdout } = await install.run(['trace', '42'], { columns: 240 });
    expect(stdout).toMatch(
      / delivered .* ms, It took no email\., message C01\/17\.5 \(https:\/\/chat\.example\.com\/archives\/C01\/p175\)$/m,
    );
    const { events } = (await install.json('trace', '42')) as { events: { what: string; ref: unknown }[] };
    expect(events.map(({ what, ref: became }) => [what, became])).toContainEqual(['delivered', ref]);
    expect(events.filter(({ ref: became }) => became !== null)).toHaveLength(1);
  });

  test('prints what a delivery waits for, and does not call it due while its sink is held or paused', async () => {
    const install = new Install();
    const ledger = await install.listed(42);
    const unavailable = { kind: 'unavailable', reason: 'The CRM does not answer.' } as const;
    await attemptDue(ledger, 'crm', install.clock, () => unavailable);
    const waiting = async (sink: string) =>
      (await install.run(['trace', '42'])).stdout
        .split('\n')
        .find((line) => line.includes(` pending      ${sink}:`));
    expect(await waiting('crm')).toMatch(
      / next attempt 2026-11-20T10:00:\d\d\.\d{3}Z; The CRM does not answer\.$/,
    );
    expect(await waiting('drop')).toMatch(/ next attempt 2026-11-20T10:00:00\.000Z$/);
    await ledger.pause('drop', 'moving house');
    expect(await waiting('drop')).toMatch(/ waits until its sink is resumed$/);
    await install.listed(...Array.from({ length: 30 }, (_, index) => index + 1));
    await attemptDue(ledger, 'crm', install.clock, () => unavailable);
    expect(await waiting('crm')).toMatch(/ waits until its sink works again; The CRM does not answer\.$/);
  });

  test('prints JSON with the names of the public tables', async () => {
    const install = await aRefusedLead();
    expect(await install.json('trace', '42')).toMatchObject({
      lead_id: '42',
      events: expect.arrayContaining([
        {
          at: '2026-11-20T10:00:00.000Z',
          what: 'listed',
          sink: null,
          delivery_id: null,
          detail: 'source main, poll 1, version 1',
          ref: null,
        },
      ]),
    });
  });

  test('is exact for the largest id', async () => {
    const install = new Install();
    const { stderr, code } = await install.run(['trace', '9223372036854775807']);
    expect(code).toBe(1);
    expect(stderr).toContain('There is no ledger');
    await install.listed(1);
    expect((await install.run(['trace', '9223372036854775807'])).stderr).toContain(
      'Lead 9223372036854775807 is not',
    );
  });

  test('prints why a lead was rejected, and when it became valid', async () => {
    const install = new Install();
    const raw = '{"id":7}';
    const broken = { kind: 'rejected', position: 0, id: 7n, raw, hash: hashOf(raw) } as const;
    await install.recorded([{ ...broken, reason: 'is missing', path: 'client_name' }]);
    const first = await install.run(['trace', '7']);
    expect(first.code).toBe(0);
    expect(first.stdout).toMatch(
      /^2026-11-20T10:00:00\.000Z +rejected +source main: client_name: is missing$/m,
    );
    install.clock.jump(60_000);
    await install.listed(7);
    const { stdout } = await install.run(['trace', '7', '--source', 'main']);
    expect(stdout).toMatch(/^2026-11-20T10:01:00\.000Z +\+1 min +resolved +source main$/m);
    expect(stdout).toMatch(/^2026-11-20T10:01:00\.000Z +(?:\+1 min +)?owed +2 sinks +created: crm, drop$/m);
  });

  test.each([80, 60, 40])('no line is wider than a terminal of %i columns', async (columns) => {
    const install = await aRefusedLead();
    const { stdout } = await install.run(['trace', '42'], { columns });
    expect(stdout).toContain('listed');
    for (const line of stdout.split('\n')) expect(line.length).toBeLessThanOrEqual(columns);
  });

  test('prints the sink instead of the id of a delivery on a narrow terminal', async () => {
    const install = await aRefusedLead();
    const narrow = (await install.run(['trace', '42'], { columns: 80 })).stdout;
    expect(narrow).toMatch(/^AT \(UTC\) +AFTER +WHAT +SINK +DETAIL\n2026-11-20\n10:00:00\.000 +listed /);
    expect(narrow).toMatch(/^10:00:01\.515 +\+15 ms +refused +crm +15 ms, HTTP 422,/m);
    expect(narrow.match(/2026-11-20$/gm)).toHaveLength(1);
    expect((await install.run(['trace', '42'], { columns: 110 })).stdout).toMatch(/ refused +crm:main:42:1:/);
  });

  test('colours failures on a terminal with colours', async () => {
    const install = await aRefusedLead();
    const { stdout } = await install.run(['trace', '42'], { columns: 120, colours: true });
    expect(stdout).toContain('  \u001b[31mrefused\u001b[39m');
    expect(stdout).toMatch(/Z {2} +owed /);
    expect((await install.run(['trace', '42'], { columns: 120 })).stdout).not.toContain('\u001b');
  });

  test('says that no listing had an unknown lead, and where to look', async () => {
    const install = await aRefusedLead();
    const { code, stdout, stderr } = await install.run(['trace', '99']);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toContain('Lead 99 is not in the ledger');
    expect(stderr).toContain('leadsync status');
  });

  test.each([
    [['trace'], "missing required argument 'lead'"],
    [['trace', 'anna'], "'anna' is not a lead id: a whole number from 1 to 9223372036854775807."],
    [['trace', '42', '43'], 'too many arguments'],
    [['trace', '42', '--source', 'mian'], 'There is no source "mian": did you mean "main"?'],
  ])('takes %j for wrong usage', async (args, message) => {
    const install = await aRefusedLead();
    const { code, stderr } = await install.run(args);
    expect(stderr).toContain(message);
    expect(code).toBe(2);
  });
});

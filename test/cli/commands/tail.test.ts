import { expect, onTestFinished, test } from 'vitest';
import { feedLine } from '../../../src/cli/views/feed-entry.ts';
import type { Ledger } from '../../../src/ledger/contract/ledger.ts';
import { startLeadsync } from '../../support/program/leadsync.ts';
import { aListedLead } from '../../support/scene/a-lead.ts';
import { canaryLead, expectNoCanary } from '../../support/scene/canary.ts';
import { until } from '../../support/time/until.ts';
import { attemptDue, Install } from '../an-install.ts';

/** `leadsync tail` as a process, once it tells what happens. */
async function tailing(install: Install, ledger: Ledger, ...args: string[]) {
  const tail = startLeadsync(['tail', '-c', install.configFile, ...args]);
  onTestFinished(() => void tail.kill('SIGKILL'));
  let id = 1_000_000;
  await until('it follows', async () => {
    await list(ledger, id++);
    await attemptDue(ledger, 'crm', install.clock, () => ({ kind: 'delivered' }));
    return tail.stdout.includes('delivered');
  });
  return tail;
}

async function list(ledger: Ledger, id: number, raw?: string): Promise<void> {
  const poll = await ledger.startPoll('main');
  const lead = aListedLead({ id });
  await ledger.record(poll, [raw === undefined ? lead : { ...lead, raw }]);
  await ledger.finishPoll(poll, { status: 'success', bytes: 10, httpStatus: 200, mark: undefined });
}

test('tail prints leads and attempts as they happen, and ends with 0 on Ctrl-C', async () => {
  const install = new Install();
  const ledger = await install.ledger();
  const tail = await tailing(install, ledger);
  await list(ledger, 42);
  await attemptDue(ledger, 'crm', install.clock, () => ({
    kind: 'refused',
    reason: 'It says no.',
    httpStatus: 422,
  }));
  await until('all is told', () => /refused/.test(tail.stdout));
  expect(tail.stdout).toMatch(/Z {2}new {10}main 42\n/);
  expect(tail.stdout).toMatch(/Z {2}poll {9}main: success, 1 listed, 1 new, 0 changed\n/);
  expect(tail.stdout).toMatch(/Z {2}refused {6}crm main 42: 15 ms, HTTP 422, given up, It says no\.\n/);
  expect(await tail.kill('SIGINT')).toEqual({ code: 0, signal: null });
  expect(tail.stderr).toBe('');
});

test('tail prints personal data only with --show-data', async () => {
  const install = new Install();
  const ledger = await install.ledger();
  const [quiet, open] = [
    await tailing(install, ledger, '--json'),
    await tailing(install, ledger, '--show-data'),
  ];
  await list(ledger, 1, canaryLead(1));
  const answer = 'k9canary7q says no';
  await attemptDue(ledger, 'crm', install.clock, () => ({ kind: 'refused', reason: 'It says no.', answer }));
  for (const tail of [quiet, open]) await until('all is told', () => /refused/.test(tail.stdout));
  expectNoCanary(quiet.stdout);
  expect(open.stdout).toContain('k9canary7q service_name');
  expect(open.stdout).toContain('Answer: k9canary7q says no');
  const lines = quiet.stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(lines).toContainEqual(
    expect.objectContaining({ kind: 'attempt', sink: 'crm', lead_id: '1', outcome: 'refused' }),
  );
});

test('tail prints only one sink with --sink', async () => {
  const install = new Install();
  const ledger = await install.ledger();
  const tail = await tailing(install, ledger, '--sink', 'crm');
  await list(ledger, 42);
  await attemptDue(ledger, 'drop', install.clock, () => ({ kind: 'delivered' }));
  await attemptDue(ledger, 'crm', install.clock, () => ({ kind: 'delivered' }));
  await until('its own is told', () => /delivered +crm main 42:/.test(tail.stdout));
  expect(tail.stdout).not.toMatch(/drop|poll|new/);
});

test('tail ends when the reader closes the pipe', async () => {
  const install = new Install();
  const ledger = await install.ledger();
  const tail = await tailing(install, ledger);
  tail.process.stdout?.destroy();
  const ended = tail.exited.then(({ code }) => code);
  let id = 1;
  await until('it has ended', async () => {
    await list(ledger, id++);
    return tail.process.exitCode !== null;
  });
  expect(await ended).toBe(0);
  expect(tail.stderr).toBe('');
});

test.each([
  [['--sink', 'cmr'], 2, 'did you mean "crm"'],
  [['--source', 'mian'], 2, 'did you mean "main"'],
])('tail rejects %j', async (args, exit, words) => {
  const install = new Install();
  await install.listed(1);
  const { code, stdout, stderr } = await install.run(['tail', ...args]);
  expect({ code, stdout }).toEqual({ code: exit, stdout: '' });
  expect(stderr).toContain(words);
});

test('tail says so if there is no ledger', async () => {
  const { code, stderr } = await new Install().run(['tail']);
  expect(code).toBe(1);
  expect(stderr).toMatch(/There is no ledger/);
});

test.each([
  [{ kind: 'sink', what: 'held', sink: 'crm', reason: 'It is down.' }, '<bad>held       '],
  [{ kind: 'sink', what: 'recovered', sink: 'crm', reason: undefined }, 'recovered  '],
  [{ kind: 'ledger', what: 'away', reason: 'It is locked.' }, '<bad>ledger     '],
] as const)('tail colours %j by its meaning', (event, expected) => {
  const paint = (tone: string | undefined, text: string) => (tone ? `<${tone}>${text}` : text);
  const at = new Date('2026-11-20T10:00:00Z');
  expect(feedLine({ at, ...event }, paint)).toContain(`2026-11-20T10:00:00.000Z  ${expected}`);
});

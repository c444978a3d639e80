import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { Preview } from '../../../src/sinks/sink.ts';
import { startDatabase } from '../../sinks/postgres/database.ts';
import { aListedLead } from '../../support/scene/a-lead.ts';
import { startWebhookReceiver } from '../../support/servers/webhook-receiver.ts';
import { attemptDue, deliverBySink, Install } from '../an-install.ts';

const people = [
  aListedLead({ id: 1, client_email: 'ada@example.com', client_name: 'Ada Secret' }, 0),
  aListedLead({ id: 2, client_email: 'bob@example.com' }, 1),
];

test('without --yes, prints which leads it would erase, and erases none', async () => {
  const install = new Install();
  const ledger = await install.recorded(people);
  const { code, stdout, stderr } = await install.run(['erase', 'ADA@example.com']);
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toBe(
    'Nothing was erased. This command would erase: main 1.\nErasing cannot be undone. To erase, run the same command with --yes.\n',
  );
  expect((await ledger.findPerson({ kind: 'email', contact: 'ada@example.com' })).leads).toHaveLength(1);
});

test('a dry run prints which leads it would erase, erases none, and leaves no line in the audit log', async () => {
  const install = new Install();
  const ledger = await install.recorded(people);
  expect(await install.run(['erase', 'ada@example.com', '--dry-run'])).toEqual({
    code: 0,
    stdout: 'Dry run: this would erase main 1.\n',
    stderr: '',
  });
  expect((await ledger.findPerson({ kind: 'email', contact: 'ada@example.com' })).leads).toHaveLength(1);
  expect(existsSync(join(install.folder, 'data', 'audit.jsonl'))).toBe(false);
});

test('reads the person from standard input', async () => {
  const install = new Install();
  await install.recorded(people);
  const { code, stderr } = await install.run(['erase', '-'], { stdin: 'ada@example.com' });
  expect(code).toBe(1);
  expect(stderr).toContain('Nothing was erased. This command would erase: main 1.');
});

test('erases, and certifies which places it reached, which not, and which files still contain the person', async () => {
  const install = new Install();
  const ledger = await install.recorded(people);
  await deliverBySink(install, ledger, 'drop');
  const { code, stdout, stderr } = await install.run(['erase', 'ada@example.com', '--yes']);
  expect({ code, stderr }).toEqual({ code: 1, stderr: '' });
  expect(stdout).toContain('lead main 1\n');
  expect(stdout).not.toContain('main 2');
  expect(stdout).not.toMatch(/ada@|Ada Secret/);
  expect(stdout).toContain(
    '1 lead version and 0 rejected leads emptied, 0 answers removed, 1 delivery skipped',
  );
  expect(stdout).toMatch(/reached {6}ledger: Erased and overwritten/);
  expect(stdout).toMatch(/reached {6}crm \(webhook\): None of these leads was sent there\.\n/);
  expect(stdout).toMatch(/NOT REACHED {2}drop \(csv\): .*\n +\S+leads-20261120T100000\.000Z-b1\.csv\n/);
  // What is left is for people to remove: nothing is left to go on with.
  expect((await install.run(['erase'])).stderr).toContain('No earlier erase is unfinished.');
  const data = join(install.folder, 'data', 'ledger.db');
  for (const file of [data, `${data}-wal`, `${data}-shm`])
    if (existsSync(file)) expect(readFileSync(file).includes('Ada Secret')).toBe(false);
});

test('does not treat a configured backup as an export that is no longer configured', async () => {
  const install = new Install({ backups: { nightly: { type: 'directory', directory: './n', every: '1d' } } });
  await install.recorded(people);
  expect(await install.run(['backup', 'nightly'])).toMatchObject({ code: 0 });
  const { stdout } = await install.run(['erase', 'ada@example.com', '--yes']);
  expect(stdout).toContain('Erased at');
  expect(stdout).not.toContain('not configured');
});

test.each([
  ['removed or emptied', 'SELECT 1'],
  // As a running leadsync does, which erases at its mirror as well.
  ['nothing was left to remove', 'DELETE FROM leads'],
])('certifies that PostgreSQL no longer contains the leads: %s', async (how, before) => {
  const { url, schema, query, close } = startDatabase();
  onTestFinished(close);
  const install = new Install({ sinks: { warehouse: { type: 'postgres', url, schema } } });
  const ledger = await install.recorded([]);
  await ledger.declareSinks([
    { name: 'warehouse', events: ['created'], backfill: true, place: `postgres ${schema}` },
  ]);
  await install.recorded(people);
  await deliverBySink(install, ledger, 'warehouse');
  await query(before);
  const { code, stdout } = await install.run(['erase', 'ada@example.com', '--yes']);
  expect(code).toBe(0);
  expect(stdout).toMatch(
    new RegExp(`reached {6}warehouse \\(postgres\\): It no longer contains these leads \\(.*${how}\\)\\.`),
  );
  expect(stdout).toMatch(/^Not searched: .*PostgreSQL's WAL and free space/m);
});

test('reports that it does not search the former place of a sink that now delivers elsewhere', async () => {
  const install = new Install({ sinks: { drop: { type: 'csv', directory: './drop' } } });
  const ledger = await install.recorded(people);
  const bringsTo = (place: string) =>
    ledger.declareSinks([{ name: 'drop', events: ['created'], backfill: true, place }]);
  await bringsTo('webhook');
  await deliverBySink(install, ledger, 'drop');
  rmSync(join(install.folder, 'drop'), { recursive: true });
  install.clock.jump(60_000);
  await bringsTo('csv /drop');
  const { code, stdout } = await install.run(['erase', '1', '--yes']);
  expect(code).toBe(1);
  expect(stdout).toContain(
    'NOT REACHED  drop (former destination): Until 2026-11-20T10:01:00.000Z, the sink delivered to webhook, which received, or may have received, 1 lead. leadsync can no longer reach it: erase these leads there by their ids, or ask its operator to do so.\n',
  );
});

test('reports that the files of a sink were moved away since', async () => {
  const install = new Install({ sinks: { drop: { type: 'csv', directory: './drop' } } });
  const ledger = await install.recorded(people);
  await deliverBySink(install, ledger, 'drop');
  rmSync(join(install.folder, 'drop'), { recursive: true });
  const { code, stdout } = await install.run(['erase', '1', '--yes']);
  expect(code).toBe(0);
  expect(stdout).toContain(
    'reached      drop (csv): It received 1 lead, and none of its files contains any. Files that were moved elsewhere may contain them.\n',
  );
});

test('prints the certificate of an erasure that reached every place as JSON', async () => {
  const install = new Install({ sinks: { drop: { type: 'csv', directory: './drop' } } });
  await install.recorded(people);
  expect(await install.json('erase', '1', '--yes')).toMatchObject({
    leads: [{ source: 'main', id: '1' }],
    erased: { versions: 1, skipped: 2 },
    places: [
      { place: 'ledger', reached: true },
      { place: 'drop', type: 'csv', reached: true, files: [] },
    ],
  });
  expect(await install.json('erase', '1', '--yes')).toMatchObject({ erased: { versions: 0, skipped: 0 } });
});

test('notifies the webhook that got the lead, after any number of attempts, and prints what is pending and when it was notified', async () => {
  const receiver = await startWebhookReceiver();
  onTestFinished(() => receiver.close());
  const secret = `whsec_${Buffer.alloc(32, 1).toString('base64')}`;
  const install = new Install({ sinks: { crm: { type: 'webhook', url: receiver.url, secret } } });
  const ledger = await install.recorded(people);
  await install.run(['sync']);
  expect(receiver.received).toHaveLength(2);
  const owed = await install.run(['erase', '1', '--yes']);
  expect(owed.code).toBe(1);
  expect(owed.stdout).toMatch(
    /NOT REACHED {2}crm \(webhook\): `lead.erased` is owed for 1 lead; .* delivers it\./,
  );
  await install.run(['pause', 'crm']);
  expect((await install.run(['erase', '--yes'])).stdout).toContain('delivers it once the sink is resumed.');
  await install.run(['resume', 'crm']);
  const [shown] = (await install.json('preview', '--sink', 'crm', '--lead', '1')) as Preview[];
  receiver.answerNext({ status: 503, body: 'Ada Secret' });
  await install.run(['sync']);
  await install.run(['retry', '--sink', 'crm', '--state', 'pending']);
  await install.run(['sync']);
  const told = receiver.received.slice(2);
  expect(told).toHaveLength(2);
  for (const { headers, body } of told) {
    expect(body.toString()).toBe(
      '{"type":"lead.erased","timestamp":"2026-11-20T10:00:00.000Z","data":{"id":1},"source":"main","replay":false}',
    );
    expect(headers['webhook-id']).toMatch(/^crm:main:1:1:[0-9a-f]{8}:erased$/);
    expect(headers).toMatchObject({ 'webhook-signature': expect.stringMatching(/^v1,/) });
    expect(body.toString()).toBe(shown?.content);
  }
  expect((await ledger.trace(1n)).map(({ answer }) => answer).join()).not.toContain('Ada Secret');
  const done = await install.run(['erase', '--yes']);
  expect(done).toMatchObject({ code: 0, stderr: '' });
  expect(done.stdout).toMatch(/reached {6}crm \(webhook\): It accepted `lead.erased` for 1 lead/);
  await install.run(['erase', '1', '--yes']);
  await install.run(['sync']);
  expect(receiver.received).toHaveLength(4);
});

test.each([
  ['says no to it', {}, /NOT REACHED {2}crm \(webhook\): It refused `lead.erased` for 1 lead/],
  [
    'has left it out',
    { events: ['created'] },
    /It received 1 lead, and was notified of 0 erasures\. .*with `erased` among/,
  ],
  ['is configured no more', undefined, /NOT REACHED {2}crm \(not configured\): It received 1 lead/],
])('lists a webhook that %s', async (_, now, said) => {
  const receiver = await startWebhookReceiver();
  onTestFinished(() => receiver.close());
  const crm = { type: 'webhook', url: receiver.url };
  const install = new Install({ sinks: { crm } });
  await install.recorded(people);
  await install.run(['sync']);
  receiver.answerAlways(422);
  if (now === undefined || 'events' in now)
    install.configure({
      sinks: now ? { crm: { ...crm, ...now } } : { drop: { type: 'csv', directory: './d' } },
    });
  await install.run(['erase', '1', '--yes']);
  await install.run(['sync']);
  const { code, stdout } = await install.run(['erase', '1', '--yes']);
  expect({ code, said: said.test(stdout) }, stdout).toEqual({ code: 1, said: true });
});

test.each([
  [
    'has left the word of it out',
    { crm: { type: 'webhook', url: 'http://127.0.0.1:9', events: ['created'] } },
  ],
  ['is configured no more', { drop: { type: 'csv', directory: './d' } }],
])(
  'reports that a lead may have reached a webhook that %s, if the outcome of its attempt is unknown',
  async (_, sinks) => {
    const install = new Install();
    const ledger = await install.recorded(people);
    const { refs } = await ledger.claim({ sink: 'crm', window: 1, max: 1, waitMs: 0, leaseMs: 60_000 });
    for (const ref of refs) {
      await ledger.begin(ref, 60_000);
      await ledger.release(ref, true);
    }
    install.configure({ sinks });
    const { code, stdout } = await install.run(['erase', '1', '--yes']);
    expect(code).toBe(1);
    expect(stdout).toMatch(/NOT REACHED {2}crm \(.*\): It may have received 1 lead/);
    expect((await install.run(['erase', '1', '--yes'])).stdout).toContain('It may have received 1 lead');
  },
);

test('repeats an erasure that did not reach every place, even without an argument', async () => {
  const postgres = { type: 'postgres', url: 'postgresql://nobody@127.0.0.1:9/none', timeout: '2s' };
  const install = new Install({ sinks: { warehouse: postgres } });
  await install.recorded(people);
  const first = await install.run(['erase', 'ada@example.com', '--yes']);
  expect(first.code).toBe(1);
  expect(first.stdout).toMatch(/NOT REACHED {2}warehouse \(postgres\): PostgreSQL at 127.0.0.1:9/);
  expect(first.stderr).toContain('Sink warehouse could not be searched, so it may have more leads');
  const again = await install.run(['erase']);
  expect(again.stderr).toContain('This command would erase: main 1.');
  expect(JSON.parse((await install.run(['erase', '--yes', '--json'])).stdout).places[1]).toMatchObject({
    place: 'warehouse',
    reached: false,
    again: true,
  });
});

test('does not find a person by an address if their lead is past its retention, prints the next step, and erases by the id', async () => {
  const install = new Install({ sinks: { drop: { type: 'csv', directory: './drop' } } });
  const ledger = await install.recorded(people);
  for (const sink of ['drop', 'crm'])
    await attemptDue(ledger, sink, install.clock, () => ({ kind: 'delivered' }));
  await ledger.removeOld('leads', install.clock.in(1), 0);
  const { code, stderr } = await install.run(['erase', 'ada@example.com', '--yes']);
  expect(code).toBe(1);
  expect(stderr).toContain('or `retention` removed the content, the ledger has only the lead id');
  expect((await install.run(['erase', '1', '--yes'])).stdout).toMatch(/It received 1 lead/);
});

test.each([
  [['erase', 'ada'], 2, /^This is not a lead id, email address or phone number\./],
  [['erase'], 2, /No person was named/],
  [['erase', 'nobody@example.com', '--yes'], 1, /The ledger holds no person/],
  [['erase', '1', '--source', 'mian', '--yes'], 2, /did you mean "main"/],
])('%j prints what is wrong', async (args, code, message) => {
  const install = new Install();
  await install.recorded(people);
  const said = await install.run(args);
  expect(said).toMatchObject({ code, stdout: '' });
  expect(said.stderr).toMatch(message);
});

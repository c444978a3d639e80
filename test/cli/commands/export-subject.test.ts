import { expect, test } from 'vitest';
import { aListedLead } from '../../support/scene/a-lead.ts';
import { attemptDue, Install } from '../an-install.ts';

const BIG = 2n ** 63n - 1n;

async function withAda(): Promise<Install> {
  const install = new Install();
  const ada = { client_email: 'ada@example.com', client_name: 'Ada \u001b[31m' };
  const ledger = await install.recorded([aListedLead({ id: BIG, ...ada }), aListedLead({ id: 2 }, 1)]);
  await attemptDue(ledger, 'crm', install.clock, () => ({
    kind: 'refused',
    reason: 'It says no.',
    httpStatus: 422,
    answer: 'no Ada here',
  }));
  await install.recorded([
    aListedLead({ id: BIG, ...ada, client_email: 'new@example.com' }),
    { ...aListedLead({ id: 9, ...ada }, 1), kind: 'rejected', reason: 'It is wrong.', path: 'created_at' },
  ]);
  return install;
}

test('prints all data of one person, found by any content of their leads, and of no other person', async () => {
  const install = await withAda();
  const { code, stdout, stderr } = await install.run(['export-subject', 'Ada@example.com']);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout).not.toContain('\u001b');
  const record = JSON.parse(stdout);
  expect(record).toMatchObject({
    leads: [
      { id: String(BIG), client_email: 'new@example.com', service_question_answers: expect.any(Array) },
    ],
    lead_versions: [
      { lead_id: String(BIG), version: 1, changed_fields: null },
      { lead_id: String(BIG), version: 2, changed_fields: ['client_email'] },
    ],
    attempts: [{ sink: 'crm', http_status: 422, answer: 'no Ada here' }],
    rejected_leads: [{ lead_id: '9', path: 'created_at' }],
    erased: [],
  });
  expect(record.lead_versions[0].raw).toBe(
    aListedLead({ id: BIG, client_email: 'ada@example.com', client_name: 'Ada \u001b[31m' }).raw,
  );
  expect(record.deliveries.map(({ sink }: { sink: string }) => sink).sort()).toEqual(['crm', 'crm', 'drop']);
});

test('prints of an erased lead only that it was erased', async () => {
  const install = await withAda();
  await install.run(['erase', String(BIG), '--yes']);
  const record = JSON.parse((await install.run(['export-subject', String(BIG)])).stdout);
  expect(record).toMatchObject({ leads: [], erased: [{ id: String(BIG), kept_out: 0 }] });
  expect(JSON.stringify(record)).not.toMatch(/Ada|example\.com/);
});

test.each([
  ['nobody@example.com', 1, /holds no person/],
  ['ada', 2, /not a lead id, email address or phone number/],
])('%s prints what is wrong', async (person, code, message) => {
  const install = new Install();
  await install.listed(1);
  const said = await install.run(['export-subject', person]);
  expect(said).toMatchObject({ code, stdout: '' });
  expect(said.stderr).toMatch(message);
});

test('reads the person from the first line of standard input, and does not repeat text that is not a person', async () => {
  const install = await withAda();
  const asked = await install.run(['export-subject', '-'], { stdin: ' Ada@example.com \nbob@example.com\n' });
  expect(asked).toMatchObject({ code: 0, stderr: '' });
  expect(JSON.parse(asked.stdout).leads).toMatchObject([{ id: String(BIG) }]);
  for (const stdin of ['', 'Ada Lovelace\n', 'x'.repeat(5_000)]) {
    const { code, stderr } = await install.run(['export-subject', '-'], { stdin });
    expect(code).toBe(2);
    expect(stderr).toContain('This is not a lead id, email address or phone number.');
    expect(stderr).not.toMatch(/Lovelace|xxx/);
  }
});

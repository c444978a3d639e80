import { expect, test } from 'vitest';
import { aListedLead } from '../../support/scene/a-lead.ts';
import { Install } from '../an-install.ts';

const BIG = 2n ** 63n - 1n;

async function anInstall(): Promise<Install> {
  const install = new Install();
  await install.recorded([
    aListedLead({ id: BIG, client_name: 'Ada \u001b[31m', client_email: 'ada@example.com' }),
    aListedLead({ id: 2, client_phone_number: '(020) 7946-0018' }, 1),
  ]);
  return install;
}

test('lists the leads of a person, with names that cannot control the terminal', async () => {
  const install = await anInstall();
  const { code, stdout, stderr } = await install.run(['find', 'ada']);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout).toMatch(/LEAD +NAME +EMAIL +PHONE +SERVICE +DELIVERED\n/);
  expect(stdout).toMatch(/ 0 of 2\n$/);
  expect(stdout).toContain(String(BIG));
  expect(stdout).not.toContain('\u001b');
  expect(stdout.trim().split('\n')).toHaveLength(2);
});

test('reads digits of a phone number from standard input, and prints JSON', async () => {
  const install = await anInstall();
  const { code, stdout } = await install.run(['find', '-', '--json'], { stdin: '20 7946\n' });
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({
    leads: [{ lead_id: '2', client_phone_number: '(020) 7946-0018', matched_version: 1 }],
    more: false,
  });
});

test('reports that no lead was found, or that the text is too short, without repeating it', async () => {
  const install = await anInstall();
  expect(await install.run(['find', 'grace'])).toMatchObject({
    code: 1,
    stdout: '',
    stderr: 'No lead has this name, email address or phone number.\n',
  });
  expect(await install.run(['find', 'g'])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('Enter at least two letters, or four digits of a phone number.'),
  });
  expect(await install.run(['find', 'ada', '--source', 'mian'])).toMatchObject({ code: 2 });
});

import { expect, test } from 'vitest';
import { Install } from '../an-install.ts';

test('--all is refused for a ledger in a file, on which one machine works', async () => {
  const install = new Install();
  await (await install.listed(1)).close();
  expect(await install.run(['reload', '--all'])).toMatchObject({
    code: 2,
    stdout: '',
    stderr: expect.stringContaining('--all is for a ledger in PostgreSQL, on which several machines work.'),
  });
});

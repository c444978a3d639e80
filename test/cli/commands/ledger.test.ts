import { expect, test } from 'vitest';
import { requireDatabaseUrl, uniqueName } from '../../support/servers/services.ts';
import { Install } from '../an-install.ts';

test.each([
  [['copy'], 'ledger copy needs two different engines.'],
  [['copy', '--from', 'sqlite', '--to', 'sqlite'], 'ledger copy needs two different engines.'],
  [['copy', '--from', 'mysql', '--to', 'sqlite'], 'ledger copy needs two different engines.'],
  [['accept', '--from', 'sqlite'], '--from, --to and --dry-run belong to `leadsync ledger copy`.'],
  [['move'], 'ledger has no action "move".'],
])('ledger %j is a usage error', async (words, message) => {
  const said = await new Install().run(['ledger', ...words]);
  expect(said).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining(message) });
});

test('copy says that the configuration names no server', async () => {
  const install = new Install();
  await install.listed(1);
  const said = await install.run(['ledger', 'copy', '--from', 'sqlite', '--to', 'postgres']);
  expect(said).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('The configuration names no server'),
  });
});

test('copy --dry-run says what it would copy, and how much', async () => {
  const install = new Install();
  await (await install.listed(1, 2)).close();
  install.configure({ ledger: { url: requireDatabaseUrl(), schema: uniqueName('ledger') } });
  const said = await install.run(['ledger', 'copy', '--from', 'sqlite', '--to', 'postgres', '--dry-run']);
  expect(said).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/_versions +2 rows\n[\s\S]*Nothing was changed\.\n$/),
  });
});

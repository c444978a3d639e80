import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { Install } from '../cli/an-install.ts';
import { startLeadsync } from '../support/program/leadsync.ts';
import { aListedLead } from '../support/scene/a-lead.ts';
import { until } from '../support/time/until.ts';

const LEADS = 8_000;
const PATIENCE_MS = 30_000;

test.each(['SIGHUP', 'SIGTERM'] as const)(
  'an export by hand that %s stops leaves nothing behind',
  async (signal) => {
    const install = new Install({ sinks: {} });
    const ledger = await install.recorded(
      Array.from({ length: LEADS }, (_, at) => aListedLead({ id: at + 1 }, at)),
    );
    await ledger.close();
    const out = join(install.folder, 'out');
    mkdirSync(out);
    const stopped = startLeadsync(['export', '--all', join(out, 'lake/'), '-c', install.configFile]);
    await until('it writes', () => readdirSync(out).length > 0, PATIENCE_MS);
    if (signal === 'SIGHUP') stopped.process.kill(signal); // from the shell; the kernel sends the other one
    expect(await stopped.kill(signal)).toEqual({ code: 1, signal: null });
    expect(stopped.stderr).toContain('The export was stopped. No partial file was left.');
    expect(readdirSync(out)).toEqual([]);
  },
);

test('an export whose leadsync is killed ends with it and leaves nothing, and the next is whole', async () => {
  const nightly = { type: 'directory', directory: './out', tables: ['all'], format: 'csv', every: '1d' };
  const install = new Install({ sinks: {}, exports: { nightly } });
  const ledger = await install.recorded(
    Array.from({ length: LEADS }, (_, at) => aListedLead({ id: at + 1 }, at)),
  );
  await ledger.close();
  const out = join(install.folder, 'out');
  const begin = () => startLeadsync(['export', '--name', 'nightly', '-c', install.configFile]);
  const killed = begin();
  const isWriting = () => existsSync(out) && readdirSync(out).some((name) => name.endsWith('.tmp'));
  await until('it writes', isWriting, PATIENCE_MS);
  await killed.kill('SIGKILL');
  await until('nothing is left', () => readdirSync(out).length === 0, PATIENCE_MS);
  const next = begin();
  expect(await next.exited).toEqual({ code: 0, signal: null });
  expect(next.stdout).toContain('Wrote ');
  const [run = ''] = readdirSync(out);
  expect(readdirSync(join(out, run))).toContain('leads.csv');
});

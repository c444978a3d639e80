import { expect, it } from 'vitest';
import { ExitCode } from '../../../src/cli/shell/exit-code.ts';
import { explainFailure } from '../../../src/cli/shell/explain-failure.ts';
import { requireLedgerFile } from '../../../src/operations/opening/require-ledger-file.ts';
import { recoverLedger } from '../../../src/operations/recover.ts';
import { restoreLedger } from '../../../src/operations/restoring/restore.ts';
import { Secret } from '../../../src/platform/options/secret.ts';
import { systemClock } from '../../../src/platform/time/clock.ts';

const url = new Secret('postgresql://leadsync:let-me-in@db.example.com/leads');
const onServer = {
  dataDir: '/data',
  ledgerServer: { url, schema: 'leadsync_ledger', connections: 4 },
  sources: [],
};
const parts = { clock: systemClock, signal: new AbortController().signal };

it('a ledger in a file has a path', () => {
  expect(requireLedgerFile({ dataDir: '/data' }, 'Use pg_dump.')).toBe('/data/ledger.db');
});

it('commands that work on the file say what to use for a ledger on a server', async () => {
  const restored = restoreLedger(
    onServer,
    { source: { kind: 'file', path: '/backup.db' }, exchange: false, replace: false, foreign: false },
    parts,
  );
  for (const [refused, tool] of [
    [recoverLedger(onServer, parts, false), 'pg_amcheck'],
    [restored, 'pg_restore'],
  ] as const) {
    const error = await refused.then(
      () => undefined,
      (error: unknown) => error,
    );
    const { message, exitCode } = explainFailure(error);
    expect(message).toContain(
      'The ledger is in the schema leadsync_ledger of PostgreSQL at db.example.com/leads, and this command works only on a ledger in a file.',
    );
    expect(message).toContain(tool);
    expect(message).not.toContain('let-me-in');
    expect(exitCode).toBe(ExitCode.configuration);
  }
});

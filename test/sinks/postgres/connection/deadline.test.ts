import { expect, onTestFinished, test } from 'vitest';
import { Database } from '../../../../src/sinks/postgres/connection/database.ts';
import { requireDatabaseUrl } from '../../../support/servers/services.ts';
import { someParts } from '../../some-parts.ts';

const NEVER = new AbortController().signal;

test.each([
  ['that of the sink', undefined, 200],
  ['its own', 100, 100],
])('a transaction that takes too long says its deadline: %s', async (_, own, said) => {
  const database = new Database(requireDatabaseUrl(), 1, someParts({ timeoutMs: 200 }));
  onTestFinished(() => database.close());
  const work = database.runOrThrow(
    'READ ONLY',
    NEVER,
    async (client) => void (await client.query('SELECT pg_sleep(30)')),
    own,
  );
  await expect(work).rejects.toThrow(`did not finish a transaction within ${said / 1000} s.`);
});

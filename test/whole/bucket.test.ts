import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { anAnsweringStorage } from '../exports/answering-storage.ts';
import { parquetRows } from '../exports/read-parquet.ts';
import { sinkOptionsOf } from '../sinks/drop/open-in-bucket.ts';
import { startStub } from '../stub/stub.ts';
import { tempDir } from '../support/files/temp-dir.ts';
import { runLeadsync, startDaemon, startLeadsync, writeConfig } from '../support/program/leadsync.ts';
import { type Asked, isObject } from '../support/servers/storage-server.ts';
import { until } from '../support/time/until.ts';

const [LEADS, BATCH] = [200, 20];

test.each([
  ['has stored an object, and before the ledger knows', 'accepted=kill@3', 1],
  ['has begun an attempt, and before it sends', 'begun=kill@3', 0],
])(
  'killed after it %s, leadsync leaves one object per batch, with each lead once',
  async (_, failpoint, repeats) => {
    const storage = await anAnsweringStorage();
    const stub = await startStub({ leads: LEADS });
    onTestFinished(() => stub.close());
    const folder = tempDir();
    const { configFile, adminUrl } = await writeConfig(folder, {
      sources: {
        main: {
          base_url: stub.url,
          client_id: stub.clientId,
          client_secret: stub.clientSecret,
          poll: { every: '1s' },
        },
      },
      sinks: {
        lake: { type: 'parquet', ...sinkOptionsOf(storage), batch: { max: BATCH, wait: '1h' } },
      },
    });
    const killed = startLeadsync(['run', '-c', configFile], { env: { LEADSYNC_FAILPOINTS: failpoint } });
    onTestFinished(() => void killed.process.kill('SIGKILL'));
    expect(await killed.exited).toEqual({ code: null, signal: 'SIGKILL' });
    expect(storage.objects.size).toBe(2 + repeats);

    const daemon = await startDaemon(configFile, adminUrl);
    onTestFinished(() => void daemon.process.kill('SIGKILL'));
    await until('every lead is delivered', async () => await isDelivered(configFile), 60_000);
    expect(await daemon.kill('SIGTERM')).toEqual({ code: 0, signal: null });

    expect(storage.objects.size).toBe(LEADS / BATCH);
    const ids: unknown[] = [];
    for (const content of storage.objects.values()) {
      const file = join(folder, 'object.parquet');
      writeFileSync(file, content);
      ids.push(...(await parquetRows(file)).map(({ id }) => id));
    }
    expect(new Set(ids).size).toBe(LEADS);
    expect(ids).toHaveLength(LEADS);
    // leadsync looked at the object that the killed process had stored, and stored it no second time.
    expect(storage.asked.filter(isObject)).toHaveLength(repeats);
    expect(storage.asked.filter(isUnconditionalPut)).toEqual([]);
    const { code, stdout } = await runLeadsync(['reconcile', '--sink', 'lake', '-c', configFile]);
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: `lake: ${LEADS} leads delivered, ${LEADS} held, 0 missing, 0 foreign.\n`,
    });
  },
);

function isUnconditionalPut({ method, headers }: Asked): boolean {
  return method === 'PUT' && headers['if-none-match'] === undefined;
}

async function isDelivered(configFile: string): Promise<boolean> {
  const { stdout } = await runLeadsync(['status', '--json', '-c', configFile]);
  const { sources, sinks } = JSON.parse(stdout) as {
    sources: { leads: number }[];
    sinks: { pending: number }[];
  };
  return sources[0]?.leads === LEADS && sinks[0]?.pending === 0;
}

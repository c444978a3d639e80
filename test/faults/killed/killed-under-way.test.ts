// Faults 6 and 8: leadsync is killed during an attempt, and after an attempt that only the queue does not know as settled.
import { readdirSync } from 'node:fs';
import { expect } from 'vitest';
import { csvFiles, type Scene } from '../../support/scene/scene.ts';
import { overCarriers } from '../over-carriers.ts';
import { jobsIn } from '../redis/queue.ts';
import { aSceneToKillIn, expectRecovery, runUntilKilled } from './killing.ts';

const LEADS = 120;

overCarriers('with the %s carrier', (carrier, test) => {
  test('6. killed during webhook requests, leadsync repeats these requests under the same webhook-id, and no others', async () => {
    const scene = await aSceneToKillIn(carrier, { leads: LEADS, sinks: { crm: { concurrency: 5 } } });
    const cutOff: string[] = [];
    await runUntilKilled(scene, undefined, ['crm'], (leadsync) => {
      let requests = 0;
      // The receiver accepts the first requests; then it leaves five unanswered, the maximum at a time.
      scene.receiver.answerAlways(({ headers }, res) => {
        requests += 1;
        if (requests <= 20) res.writeHead(204).end();
        else if (cutOff.push(String(headers['webhook-id'])) === 5) leadsync.process.kill('SIGKILL');
      });
    });
    await expectRecovery(scene, { repeats: false });
    const twice = sentMoreThanOnce(scene);
    expect(twice).toEqual(cutOff.toSorted());
  });

  for (const place of ['file-write', 'file-sync', 'file-rename'])
    test(`6. killed while writing a CSV file (${place}), leadsync shows no part of it and then writes the whole under the same name`, async () => {
      const scene = await aSceneToKillIn(carrier, { leads: LEADS });
      // The first file of every run is the token's.
      await runUntilKilled(scene, `${place}=kill@2`, ['drop']);
      expect(csvFiles(scene.drop)).toEqual([]);
      const [left = ''] = readdirSync(scene.drop);
      expect(left).toMatch(/^\.leads-.+\.csv\..+\.tmp$/);
      await expectRecovery(scene, { repeats: false });
      const names = readdirSync(scene.drop);
      expect(names).toContain(left.replace(/^\.(leads-.+\.csv)\..+$/, '$1'));
      expect(names.filter((name) => name.startsWith('.'))).toEqual([]);
    });

  test("6. killed inside PostgreSQL's transaction, leadsync leaves none of its rows, and the next transaction writes them all", async () => {
    const scene = await aSceneToKillIn(carrier, { leads: LEADS });
    // The first commit creates the schema.
    await runUntilKilled(scene, 'postgres-commit=kill@2', ['warehouse']);
    expect(await scene.query(`SELECT id FROM ${scene.schema}.leads`)).toEqual([]);
    await expectRecovery(scene, { repeats: false });
  });

  test('8. killed after settling an attempt and before the queue removes its job, leadsync notices and sends nothing twice', async () => {
    const scene = await aSceneToKillIn(carrier, {
      leads: LEADS,
      sinks: { crm: { concurrency: 1 } },
      config: { log: { format: 'json', level: 'debug' } },
    });
    await runUntilKilled(scene, 'settled=kill@20', ['crm']);
    const settled = scene.receiver.received.length;
    expect(settled).toBe(20);
    // The queue has that attempt's job and possibly those waiting behind it.
    const kept = carrier === 'bullmq' ? await jobsIn(scene) : [];
    expect(kept.length > 0).toBe(carrier === 'bullmq');
    await expectRecovery(scene, { repeats: false }, (log) => {
      const stale = log.filter(({ event }) => event === 'batch-stale');
      return kept.length === 0 || stale.some(({ batch }) => kept.some((job) => job.startsWith(`${batch}-`)));
    });
    expect(sentMoreThanOnce(scene)).toEqual([]);
  });
});

/** Returns each `webhook-id` that arrived in more than one request, answered or not. */
function sentMoreThanOnce({ receiver }: Scene): string[] {
  const ids = receiver.received.map(({ headers }) => String(headers['webhook-id']));
  return [...new Set(ids.filter((id, index) => ids.indexOf(id) !== index))].toSorted();
}

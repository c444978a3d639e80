// Faults 1 to 5 and 7: leadsync kills itself with SIGKILL at a named place, is started again without the failpoint and comes to rest. The
// test then compares what the service served with what the sinks hold.
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { csvFiles, type Scene } from '../../support/scene/scene.ts';
import { overCarriers } from '../over-carriers.ts';
import { jobsIn } from '../redis/queue.ts';
import { aSceneToKillIn, expectRecovery, runUntilKilled } from './killing.ts';

/** Enough leads for two blocks of a listing. */
const LEADS = 300;
/** Number of leads in the first block, which depends on their content. */
const FIRST_BLOCK = 28;

overCarriers('with the %s carrier', (carrier, test) => {
  for (const [killed, place, seen] of [
    ['1. killed after reading a listing and before recording it', 'listing-read=kill@2', FIRST_BLOCK],
    ['2. killed inside the transaction that records it', 'recording=kill@2', FIRST_BLOCK],
    ['3. killed after that transaction and before dispatch is notified', 'recorded=kill@2', LEADS],
  ] as const)
    test(`${killed}: every recorded lead is owed, and the rest comes with the next poll`, async () => {
      const scene = await aSceneToKillIn(carrier, { leads: LEADS });
      await runUntilKilled(scene, place);
      expect(await bookkeeping(scene)).toEqual({ seen, crm: seen, drop: seen, warehouse: seen });
      await expectRecovery(scene, { repeats: false });
    });

  test('4. killed after claiming batches and before the carrier has them, leadsync continues with the same batches', async () => {
    const scene = await aSceneToKillIn(carrier, { leads: LEADS });
    await runUntilKilled(scene, 'claimed=kill');
    if (carrier === 'bullmq') expect(await jobsIn(scene)).toEqual([]);
    expect(scene.receiver.received).toEqual([]);
    await expectRecovery(scene, { repeats: false });
  });

  test('5. killed after the carrier has the batches and before it confirms them, leadsync sends each once', async () => {
    const scene = await aSceneToKillIn(carrier, { leads: LEADS });
    await runUntilKilled(scene, 'offered=kill');
    if (carrier === 'bullmq') expect(await jobsIn(scene)).not.toEqual([]);
    await expectRecovery(scene, { repeats: false });
    if (carrier === 'bullmq') expect(await jobsIn(scene)).toEqual([]);
  });

  test('7. killed after the webhook accepted leads and before the ledger knows, leadsync repeats them under the same webhook-id', async () => {
    const scene = await aSceneToKillIn(carrier, { leads: LEADS, sinks: { crm: { concurrency: 5 } } });
    await runUntilKilled(scene, 'accepted=kill@20', ['crm']);
    const { account } = await expectRecovery(scene, { repeats: true });
    const { repeated } = account.sinks.crm;
    expect(repeated.length, 'leads that came twice').toBeGreaterThan(0);
    // Those being attempted at the kill, and those whose settling was in a commit that never completed.
    expect(repeated.length, 'leads that came twice').toBeLessThanOrEqual(2 * 5);
  });

  test('7. killed after writing a CSV file and before the ledger knows, leadsync leaves that file and writes no other for its leads', async () => {
    const scene = await aSceneToKillIn(carrier, { leads: LEADS });
    await runUntilKilled(scene, 'accepted=kill', ['drop']);
    const [dropped, ...others] = csvFiles(scene.drop);
    expect(others).toEqual([]);
    const path = join(scene.drop, dropped ?? 'no file');
    const before = { text: readFileSync(path, 'utf8'), ...identityOf(path) };
    await expectRecovery(scene, { repeats: false });
    expect({ text: readFileSync(path, 'utf8'), ...identityOf(path) }).toEqual(before);
  });

  test('7. killed after PostgreSQL committed and before the ledger knows, leadsync leaves one row per lead and per answer', async () => {
    const scene = await aSceneToKillIn(carrier, { leads: LEADS });
    // The first commit creates the schema.
    await runUntilKilled(scene, 'postgres-committed=kill@2', ['warehouse']);
    const before = await rowsIn(scene);
    expect(before.leads).toBeGreaterThan(0);
    await expectRecovery(scene, { repeats: false });
    const after = await rowsIn(scene);
    expect(after).toEqual({ leads: LEADS, answers: after.answersGiven, answersGiven: after.answersGiven });
  });
});

/** Returns the number of leads in the ledger, and the number of deliveries for each sink. */
async function bookkeeping(scene: Scene): Promise<Record<string, number>> {
  const { code, stdout, stderr } = await scene.run('status', '--json');
  expect(code, stderr).toBe(0);
  const { sources, sinks } = JSON.parse(stdout) as {
    sources: { leads: number }[];
    sinks: { sink: string; pending: number; delivered: number; dead: number; skipped: number }[];
  };
  const known = sinks.map((sink) => [sink.sink, sink.pending + sink.delivered + sink.dead + sink.skipped]);
  return { seen: sources.reduce((sum, { leads }) => sum + leads, 0), ...Object.fromEntries(known) };
}

/** A file that is rewritten, or replaced by one with the same content, has another identity. */
function identityOf(path: string): { inode: number; modifiedMs: number } {
  const { ino, mtimeMs } = statSync(path);
  return { inode: ino, modifiedMs: mtimeMs };
}

async function rowsIn({ query, schema }: Scene) {
  const [rows] = await query<{ leads: number; answers: number; given: number }>(
    `SELECT (SELECT count(*)::int FROM ${schema}.leads) AS leads,
            (SELECT count(*)::int FROM ${schema}.lead_answers) AS answers,
            (SELECT coalesce(sum(jsonb_array_length(service_question_answers)), 0)::int FROM ${schema}.leads) AS given`,
  );
  return { leads: rows?.leads, answers: rows?.answers, answersGiven: rows?.given };
}

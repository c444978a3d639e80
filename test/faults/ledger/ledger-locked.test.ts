import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { expect, onTestFinished, test } from 'vitest';
import type { Daemon } from '../../support/program/leadsync.ts';
import { aScene } from '../../support/scene/a-scene.ts';
import { accountOf, faultsOf } from '../../support/scene/oracle.ts';
import type { Scene } from '../../support/scene/scene.ts';
import { Patience } from '../../support/time/patience.ts';
import { until } from '../../support/time/until.ts';
import { expectCalm } from '../calm.ts';
import { logged, told } from '../telling.ts';

// Fault 34: another process holds SQLite's write lock, for example a `sqlite3` left in a transaction, a backup or a migration.

/** Longer than a write of leadsync waits for the lock. */
const LONG_MS = 12_000;
const ASKED_EVERY_MS = 200;
/** A probe with the usual timeout of one second kills a slower process. */
const ANSWERED_WITHIN_MS = 1_000;
const ASKED = ['/livez', '/readyz', '/metrics', '/', '/leads', '/api/v1/overview'];

test('34. while another process holds the write lock, leadsync answers every probe and page and loses no outcome', async () => {
  const scene = await aScene('in-process', { stub: { leads: 10 } });
  const daemon = await scene.start();
  await until('the first leads are everywhere', () => scene.complete(), 60_000);
  const answering = Promise.withResolvers<void>();
  scene.receiver.answerAlways(async (_request, res) => {
    await answering.promise;
    res.writeHead(204).end();
  });
  scene.stub.addLeads(10);
  await until('deliveries are under way', () => scene.receiver.received.length > 10);
  const lock = writeLockOf(scene);
  lock.take();
  answering.resolve(); // the outcomes must be settled while the lock is held
  scene.stub.addLeads(10);
  const slowest = await slowestAnswers(daemon, LONG_MS);
  const busy = await told(daemon, 'poll-failed', { code: 'ledger-busy' });
  lock.release();
  expect(slowest.filter(({ ms }) => ms >= ANSWERED_WITHIN_MS)).toEqual([]);
  expect(busy).toMatchObject({ hint: expect.stringContaining('write transaction') });
  await expectNothingLost(scene, daemon);
});

test('34. while another process takes the write lock repeatedly, leads arrive and probes are answered', async () => {
  const scene = await aScene('in-process', { stub: { leads: 10 } });
  const daemon = await scene.start();
  await until('the first leads are everywhere', () => scene.complete(), 60_000);
  const lock = writeLockOf(scene);
  const stop = new AbortController();
  const taking = (async () => {
    while (!stop.signal.aborted) {
      lock.take();
      scene.stub.addLeads(1);
      await sleep(400);
      lock.release();
      await sleep(30);
    }
  })();
  const slowest = await slowestAnswers(daemon, LONG_MS);
  stop.abort();
  await taking;
  expect(slowest.filter(({ ms }) => ms >= ANSWERED_WITHIN_MS)).toEqual([]);
  const arrived = scene.receiver.received.length;
  expect(arrived).toBeGreaterThan(10); // during the locking as well
  await expectNothingLost(scene, daemon);
});

/** Opens a connection to the ledger as a second process would. */
function writeLockOf(scene: Scene): { take(): void; release(): void } {
  const db = new Database(join(scene.dataDir, 'ledger.db'), { timeout: 30_000 });
  onTestFinished(() => void db.close());
  return { take: () => void db.exec('BEGIN IMMEDIATE'), release: () => void db.exec('COMMIT') };
}

/** Requests each of `ASKED` every 200 ms. Returns the slowest answer to each, not counting time in which the machine was busy. */
async function slowestAnswers(daemon: Daemon, forMs: number): Promise<{ path: string; ms: number }[]> {
  const until = performance.now() + forMs;
  return Promise.all(
    ASKED.map(async (path) => {
      let ms = 0;
      while (performance.now() < until) {
        const patience = new Patience();
        const answer = await fetch(`${daemon.adminUrl}${path}`);
        await answer.text();
        ms = Math.max(ms, patience.spentMs);
        expect([200, path === '/readyz' ? 503 : 200]).toContain(answer.status);
        await sleep(ASKED_EVERY_MS);
      }
      return { path, ms };
    }),
  );
}

async function expectNothingLost(scene: Scene, daemon: Daemon): Promise<void> {
  await until('every lead is everywhere', () => scene.complete(), 120_000);
  await expectCalm(daemon);
  expect(faultsOf(await accountOf(scene), { repeats: false })).toEqual([]);
  for (const { reason } of logged(daemon, 'ledger-failed')) expect(reason).toContain('locked for too long');
  expect(daemon.stderr).not.toMatch(/damaged|restore/i);
}

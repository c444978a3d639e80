import { closeSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, onTestFinished, test } from 'vitest';
import { startLeadsync } from '../../support/program/leadsync.ts';
import { aScene } from '../../support/scene/a-scene.ts';
import type { Scene } from '../../support/scene/scene.ts';
import { until } from '../../support/time/until.ts';

/** Overwrites the root page of a table or index that ordinary work may never read. */
function damage(scene: Scene, name: string): void {
  const path = join(scene.dataDir, 'ledger.db');
  const db = new Database(path);
  db.pragma('wal_checkpoint(TRUNCATE)');
  const root = Number(db.prepare('SELECT rootpage FROM sqlite_schema WHERE name = ?').pluck().get(name));
  const size = Number(db.pragma('page_size', { simple: true }));
  db.close();
  const file = openSync(path, 'r+');
  writeSync(file, Buffer.alloc(size, 0x5a), 0, size, (root - 1) * size);
  closeSync(file);
}

test.each(['_attempts_by_delivery', 'rejected_leads', '_client_keys_by_key'])(
  'readyz, status and check report damage in %s, although leads may still flow',
  async (name) => {
    const scene = await aScene('in-process', { stub: { leads: 5 } });
    expect(await scene.run('sync')).toMatchObject({ code: 0 });
    expect(await scene.run('check')).toMatchObject({
      stdout: expect.stringMatching(/ok +ledger: The ledger is undamaged/),
    });
    damage(scene, name);
    const checked = await scene.run('check');
    expect(checked).toMatchObject({
      code: 69,
      stdout: expect.stringMatching(/FAILED +ledger: The ledger .* is damaged/),
    });
    const daemon = startLeadsync(['run', '-c', scene.configFile]);
    onTestFinished(() => void daemon.process.kill('SIGKILL'));
    await until('it is not ready', async () => {
      const answer = await fetch(`${scene.adminUrl}/readyz`);
      return answer.status === 503 && (await answer.text()).includes('is damaged');
    });
    expect((await fetch(`${scene.adminUrl}/livez`)).status).toBe(200);
    expect((await scene.run('status')).stdout).toMatch(/not ready: The ledger .* is damaged/);
    expect(daemon.log).toContainEqual(expect.objectContaining({ event: 'ledger-failed', level: 'error' }));
  },
);

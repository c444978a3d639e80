import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { describe, expect, it } from 'vitest';
import { startLeadsync } from '../support/program/leadsync.ts';
import { aScene } from '../support/scene/a-scene.ts';
import { carriers, type Scene } from '../support/scene/scene.ts';
import { until } from '../support/time/until.ts';

/** One second, plus what a machine that is busy with other tests adds. */
const SOON_MS = 4_000;

/** Returns the leads that the webhook received, each with its count. */
async function brought(scene: Scene): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const { lead } of (await scene.held()).crm) counts[lead] = (counts[lead] ?? 0) + 1;
  return counts;
}

describe.each(carriers)('commands beside a running daemon (%s)', (carrier) => {
  it('pause, resume, retry and replay take effect within a second', async () => {
    const scene = await aScene(carrier, { stub: { leads: 3 } });
    await scene.start();
    await until('the first leads arrive', async () => Object.keys(await brought(scene)).length === 3);

    expect(await scene.run('pause', 'crm')).toMatchObject({ code: 0 });
    scene.stub.addLeads(2);
    await until('the others have them', async () => (await scene.held()).drop.length === 5);
    expect(Object.keys(await brought(scene))).toHaveLength(3);
    expect(await scene.run('resume', 'crm')).toMatchObject({ code: 0 });
    await until('all five leads arrive', async () => Object.keys(await brought(scene)).length === 5, SOON_MS);

    scene.receiver.answerNext(422);
    const [refused] = scene.stub.addLeads(1);
    const dead = async () => JSON.parse((await scene.run('deliveries', '--state', 'dead', '--json')).stdout);
    await until('it is dead', async () => (await dead()).deliveries.length === 1);
    expect((await scene.run('retry', '--state', 'dead')).stdout).toBe('1 delivery is due now.\n');
    await until(
      'the retried lead arrives',
      async () => (await brought(scene))[String(refused)] === 1,
      SOON_MS,
    );

    expect((await scene.run('replay', '--sink', 'crm', '--all', '--yes')).stdout).toBe(
      '6 leads are owed to crm again.\n',
    );
    const twice = async () => Object.values(await brought(scene)).every((times) => times === 2);
    await until('all are there twice', twice, SOON_MS);
    // The receiver can distinguish a replay from a repeat.
    expect(new Set((await scene.held()).crm.map(({ under }) => under)).size).toBe(12);
  });
});

/** Returns the number of replays, from the ledger's public view. */
function replayed(scene: Scene): number {
  const db = new Database(join(scene.dataDir, 'ledger.db'), { readonly: true });
  try {
    return Number(db.prepare('SELECT count(*) FROM deliveries WHERE replay').pluck().get());
  } finally {
    db.close();
  }
}

describe('a replay that is killed in the middle', () => {
  it('the daemon finishes the replay: every lead arrives exactly once more', async () => {
    const leads = 5_000;
    const off = { enabled: false };
    const scene = await aScene('in-process', { stub: { leads }, sinks: { crm: off, warehouse: off } });
    expect(await scene.run('sync')).toMatchObject({ code: 0 });
    const replay = startLeadsync(['replay', '--sink', 'drop', '--all', '--yes', '-c', scene.configFile]);
    await until('a part is owed', () => replayed(scene) > 0);
    expect(await replay.kill('SIGKILL')).toMatchObject({ signal: 'SIGKILL' });
    expect(replayed(scene)).toBeLessThan(leads);
    await scene.start();
    await until('all are there twice', async () => (await scene.held()).drop.length >= 2 * leads, 60_000);
    const counts = Map.groupBy((await scene.held()).drop, ({ lead }) => lead);
    expect([...counts.values()].filter((times) => times.length !== 2)).toEqual([]);
  });

  it('the daemon finishes a replay of leads that were left out, too: every lead arrives exactly once', async () => {
    const leads = 5_000;
    const off = { enabled: false };
    const sinks = { crm: off, warehouse: off, drop: { where: 'lead.id < 0' } };
    const scene = await aScene('in-process', { stub: { leads }, sinks });
    expect(await scene.run('sync')).toMatchObject({ code: 0 });
    expect((await scene.held()).drop).toEqual([]);
    writeFileSync(
      scene.configFile,
      readFileSync(scene.configFile, 'utf8').replace('lead.id < 0', 'lead.id > 0'),
    );
    const replay = startLeadsync(['replay', '--sink', 'drop', '--left-out', '-c', scene.configFile]);
    await until('a part is owed', () => replayed(scene) > 0);
    expect(await replay.kill('SIGKILL')).toMatchObject({ signal: 'SIGKILL' });
    expect(replayed(scene)).toBeLessThan(leads);
    await scene.start();
    await until('all are there', async () => (await scene.held()).drop.length >= leads, 60_000);
    const { stdout } = await scene.run('replay', '--sink', 'drop', '--left-out');
    expect(stdout).toBe('0 leads are owed to drop again.\n');
    expect(new Set((await scene.held()).drop.map(({ lead }) => lead)).size).toBe(leads);
    expect((await scene.held()).drop).toHaveLength(leads);
  });
});

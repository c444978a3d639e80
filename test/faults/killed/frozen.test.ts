// An attempt freezes between its beginning and its first byte: its lease ends, another process makes the attempt, and the lead changes
// meanwhile. Whatever the frozen process would still deliver is old by then.
import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { type RunningLeadsync, startLeadsync } from '../../support/program/leadsync.ts';
import { aScene } from '../../support/scene/a-scene.ts';
import { lastOfEach, type Scene, SINKS, type SinkName } from '../../support/scene/scene.ts';
import { until } from '../../support/time/until.ts';
import { isFrozen } from '../is-frozen.ts';
import { logged } from '../telling.ts';

test.each(SINKS)(
  'a worker that freezes after beginning an attempt and resumes after its lease delivers nothing more to %s',
  async (sink) => {
    const scene = await aSceneWith(sink);
    const daemon = await scene.start({ args: ['run', '--no-deliver'] });
    const frozen = startWorker(scene, 'begun=freeze');
    await until('the worker is frozen', () => isFrozen(frozen), 60_000);
    startWorker(scene);
    // Only after the lease has ended.
    await until(
      'another worker has brought the lead',
      async () => (await newest(scene, sink)) === 1,
      120_000,
    );
    scene.stub.changeLead(1);
    await until('the change has arrived', async () => (await newest(scene, sink)) === 2, 60_000);
    // Remove the files, as their reader would.
    for (const name of readdirSync(scene.drop)) rmSync(join(scene.drop, name));
    const before = await atTheDestination(scene);

    frozen.process.kill('SIGCONT');
    await until('it has noticed', () => logged(frozen, 'batch-stale').length > 0, 60_000);
    expect(await atTheDestination(scene)).toEqual(before);
    for (const one of [frozen, daemon]) expect(await one.kill('SIGTERM')).toEqual({ code: 0, signal: null });
    expect(await atTheDestination(scene)).toEqual(before);
  },
);

/** Opens a scene with one lead and one sink with short leases. */
async function aSceneWith(sink: SinkName): Promise<Scene> {
  const chosen = { timeout: '3s', events: ['created', 'updated'], batch: { max: 1, wait: '0s' } };
  const others = SINKS.filter((name) => name !== sink).map((name) => [name, { enabled: false }]);
  const scene = await aScene('bullmq', {
    stub: { leads: 1 },
    sinks: { ...Object.fromEntries(others), [sink]: chosen },
    config: { log: { format: 'json', level: 'debug' } },
  });
  mkdirSync(scene.drop, { recursive: true });
  return scene;
}

function startWorker(scene: Scene, failpoints?: string): RunningLeadsync {
  const worker = startLeadsync(['worker', '-c', scene.configFile], {
    env: { LEADSYNC_FAILPOINTS: failpoints },
  });
  onTestFinished(() => void worker.process.kill('SIGKILL'));
  return worker;
}

/** Returns the version of the lead that arrived last. */
async function newest(scene: Scene, sink: SinkName): Promise<number | undefined> {
  return [...lastOfEach((await scene.held())[sink]).values()].at(0);
}

/** Returns everything that a late attempt would change. */
async function atTheDestination({ receiver, drop, schema, query }: Scene) {
  const [{ made } = { made: false }] = await query<{ made: boolean }>(
    `SELECT to_regclass('${schema}.leads') IS NOT NULL AS made`,
  );
  return {
    requests: receiver.received.length,
    files: readdirSync(drop),
    rows: made ? await query(`SELECT id, _leadsync_synced_at FROM ${schema}.leads`) : [],
  };
}

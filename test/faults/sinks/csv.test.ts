import { expect, onTestFinished, test } from 'vitest';
import { SmallDisk } from '../../support/files/small-disk.ts';
import type { Daemon } from '../../support/program/leadsync.ts';
import { aScene } from '../../support/scene/a-scene.ts';
import { accountOf, faultsOf, repeatsOfKills } from '../../support/scene/oracle.ts';
import type { Scene } from '../../support/scene/scene.ts';
import { until } from '../../support/time/until.ts';
import { expectCalm } from '../calm.ts';
import { carriersOf, overCarriers } from '../over-carriers.ts';
import { logged, mustRun, statusOf } from '../telling.ts';
import { EagerReader } from './eager-reader.ts';

// Faults 32 and 33. The disk is a small file system of its own where this machine permits mounting one (root, on Linux). Failpoints break
// the steps that such a disk cannot break, and all of them elsewhere.

const SOON = { schedule: ['200ms', '1s', '1s', '1s'], jitter: 0 };

overCarriers('a drop folder in trouble, over the %s carrier', (carrier, test) => {
  test('32. on a full, read-only or missing disk no partial file is visible, other sinks continue, and so does this one once the disk is fixed', async (context) => {
    const scene = await aScene(carrier, {
      stub: { leads: 10 },
      sinks: { drop: { batch: { max: 100, wait: '100ms' }, retry: SOON } },
    });
    const disk = new SmallDisk(scene.drop, 1);
    onTestFinished(() => disk.close());
    if (!disk.own)
      context.skip('needs a file system of its own, which this machine does not permit mounting');
    const reader = anEagerReader(scene);
    const daemon = await scene.start();
    await until('the first leads are everywhere', () => scene.complete(), 60_000);
    await expectHeldWhile(
      scene,
      daemon,
      'ENOSPC',
      () => disk.fill(),
      () => disk.free(),
    );
    await expectHeldWhile(
      scene,
      daemon,
      'EROFS',
      () => disk.protect(),
      () => disk.unprotect(),
    );
    await expectHeldWhile(
      scene,
      daemon,
      'ENOENT',
      () => disk.hide(),
      () => disk.show(),
    );
    await expectCalm(daemon);
    reader.stop();
    expect(reader.complaints).toEqual([]);
    expect(faultsOf(await accountOf(scene), { repeats: false })).toEqual([]);
  });

  test('32. when writing, syncing or renaming fails by failpoint, no partial file is visible, and the same leads are in one file afterwards', async () => {
    const scene = await aScene(carrier, {
      stub: { leads: 10 },
      // With these waits, six failures take longer than the five seconds in which a working sink is not held.
      sinks: { drop: { batch: { max: 100, wait: '100ms' }, retry: { schedule: Array(10).fill('2s') } } },
    });
    // The token is on disk before any failpoint is armed.
    await mustRun(scene, 'sync');
    const reader = anEagerReader(scene);
    for (const fault of ['file-write=ENOSPC*6', 'file-sync=ENOSPC*6', 'file-rename=EIO*6']) {
      const daemon = await scene.start({ env: { LEADSYNC_FAILPOINTS: fault } });
      const code = /=(\w+)/.exec(fault)?.[1] ?? '';
      await expectHeldWhile(
        scene,
        daemon,
        code,
        () => undefined,
        () => undefined,
      );
      await expectCalm(daemon);
      expect(await daemon.kill('SIGTERM')).toEqual({ code: 0, signal: null });
    }
    reader.stop();
    expect(reader.complaints).toEqual([]);
    expect(faultsOf(await accountOf(scene), { repeats: false })).toEqual([]);
  });
});

test.each(carriersOf(33))(
  '33. over the %s carrier, a reader that opens files as they appear never sees a partial one, although leadsync is killed repeatedly',
  async (carrier) => {
    const scene = await aScene(carrier, {
      stub: { leads: 2_000 },
      sinks: { drop: { batch: { max: 500, wait: '50ms' } } },
    });
    const reader = anEagerReader(scene);
    for (const kills of [1, 2, 3]) {
      const daemon = await scene.start();
      const before = reader.files.size;
      await until(`a file was read, for the ${kills}. time`, () => reader.files.size > before, 60_000);
      await daemon.kill('SIGKILL');
      scene.stub.addLeads(500);
    }
    const daemon = await scene.start();
    const there = () => leadsIn(reader) === scene.stub.shown;
    await until('every lead was read', there, 120_000);
    await until('every lead is everywhere', () => scene.complete(), 120_000);
    await expectCalm(daemon);
    reader.stop();
    expect(reader.complaints).toEqual([]);
    expect(faultsOf(await accountOf(scene), { repeats: repeatsOfKills(3) })).toEqual([]);
  },
);

/**
 * Breaks the disk, expects the sink to be held for that reason while the others get their leads, fixes the disk, and expects the sink to
 * continue.
 */
async function expectHeldWhile(
  scene: Scene,
  daemon: Daemon,
  code: string,
  breakIt: () => void | Promise<void>,
  mendIt: () => void,
): Promise<void> {
  await breakIt();
  const before = logged(daemon, 'sink-held').length;
  scene.stub.addLeads(20);
  await until(`the sink is held for ${code}`, () => logged(daemon, 'sink-held').length > before, 60_000);
  const { drop, crm, warehouse } = (await statusOf(scene)).sinks;
  expect(drop).toMatchObject({
    state: 'held',
    held_reason: expect.stringContaining(`(${code})`),
    pending: 20,
    dead: 0,
  });
  expect([crm?.state, warehouse?.state]).toEqual(['healthy', 'healthy']);
  mendIt();
  await mustRun(scene, 'resume', 'drop');
  await until('every lead is everywhere', () => scene.complete(), 60_000);
}

function anEagerReader(scene: Scene): EagerReader {
  const reader = new EagerReader(scene.drop);
  onTestFinished(() => reader.stop());
  return reader;
}

/** Returns the number of distinct leads in the files that a reader saw. */
function leadsIn(reader: EagerReader): number {
  const ids = [...reader.files.values()].flatMap((text) => [...text.matchAll(/(?:^|\r\n)(\d+),/g)]);
  return new Set(ids.map(([, id]) => id)).size;
}

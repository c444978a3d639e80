import { onTestFinished } from 'vitest';
import { tempDir } from '../files/temp-dir.ts';
import { until } from '../time/until.ts';
import { type CarrierName, openScene, type Scene, type SceneOptions } from './scene.ts';

/** A scene in a temporary folder; everything of it ends with the test. */
export async function aScene(carrier: CarrierName, options: SceneOptions = {}): Promise<Scene> {
  const scene = await openScene(tempDir(), carrier, options);
  onTestFinished(() => scene.close());
  return scene;
}

/** A scene in which every sink has every lead, and whose daemon was then killed. */
export async function aDeliveredScene(carrier: CarrierName, leads: number): Promise<Scene> {
  const scene = await aScene(carrier, { stub: { leads } });
  const daemon = await scene.start();
  await until('every lead is everywhere', () => scene.complete(), 60_000);
  await daemon.kill('SIGKILL');
  return scene;
}

import { onTestFinished } from 'vitest';
import { tempDir } from '../files/temp-dir.ts';
import { until } from '../time/until.ts';
import { type CarrierName, openScene, type Scene, type SceneOptions } from './scene.ts';

/** Opens a scene in a temporary folder; the scene closes when the test ends. */
export async function aScene(carrier: CarrierName, options: SceneOptions = {}): Promise<Scene> {
  const scene = await openScene(tempDir(), carrier, options);
  onTestFinished(() => scene.close());
  return scene;
}

/** Opens a scene in which every sink holds every lead and the daemon was then killed. */
export async function aDeliveredScene(carrier: CarrierName, leads: number): Promise<Scene> {
  const scene = await aScene(carrier, { stub: { leads } });
  const daemon = await scene.start();
  await until('every lead is everywhere', () => scene.complete(), 60_000);
  await daemon.kill('SIGKILL');
  return scene;
}

import { onTestFinished } from 'vitest';
import { type CarrierName, openScene, type Scene, type SceneOptions } from './scene.ts';
import { tempDir } from './temp-dir.ts';

/** A scene in a temporary folder; everything of it ends with the test. */
export async function aScene(carrier: CarrierName, options: SceneOptions = {}): Promise<Scene> {
  const scene = await openScene(tempDir(), carrier, options);
  onTestFinished(() => scene.close());
  return scene;
}

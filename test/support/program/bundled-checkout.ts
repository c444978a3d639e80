import { createHash } from 'node:crypto';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { join } from 'node:path';
import { bundle } from '../../../scripts/bundle.ts';

const ROOT = join(import.meta.dirname, '../../..');
const CACHE = join(ROOT, 'node_modules/.cache/leadsync-test');
/** Time after which the bundle of an earlier state of the checkout is removed, in ms. */
const KEPT_MS = 86_400_000;

/**
 * Bundles this checkout, so that each of the many processes that tests start loads a few files instead of seven hundred: half the CPU
 * time. Unlike a build, the bundle is a checkout for the program: it takes failpoints, and its assets and commit are those of the
 * checkout. Reuses the bundle of the same sources. Returns the file to start.
 */
export async function bundledCheckout(): Promise<string> {
  const folder = join(CACHE, `program-${hashOfSources()}`);
  if (!existsSync(folder)) {
    mkdirSync(CACHE, { recursive: true });
    removeOld();
    const unfinished = mkdtempSync(join(CACHE, 'program-'));
    await bundle(join(unfinished, 'dist'), { as: ROOT });
    cpSync(join(ROOT, 'bin'), join(unfinished, 'bin'), { recursive: true });
    cpSync(join(ROOT, 'package.json'), join(unfinished, 'package.json'));
    moveUnlessMade(unfinished, folder);
  }
  return join(folder, 'bin/leadsync.js');
}

/** Moves the finished bundle to its place, or removes it when another test run was faster. */
function moveUnlessMade(unfinished: string, folder: string): void {
  try {
    renameSync(unfinished, folder);
  } catch (error) {
    rmSync(unfinished, { recursive: true });
    if (!existsSync(folder)) throw error;
  }
}

/** Returns a hash of everything that the bundle is made of, except the packages. */
function hashOfSources(): string {
  const hash = createHash('sha256');
  const folders = ['src', 'bin'].flatMap((name) =>
    readdirSync(join(ROOT, name), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name)),
  );
  const files = [...folders, join(ROOT, 'package-lock.json'), join(ROOT, 'scripts/bundle.ts')];
  for (const file of files.toSorted()) hash.update(file).update(readFileSync(file));
  return hash.digest('hex').slice(0, 16);
}

function removeOld(): void {
  for (const name of readdirSync(CACHE).filter((one) => one.startsWith('program-'))) {
    const path = join(CACHE, name);
    if (Date.now() - statSync(path).mtimeMs > KEPT_MS) rmSync(path, { recursive: true, force: true });
  }
}

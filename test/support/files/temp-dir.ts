import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

/** Creates an empty folder and removes it when the running test ends. */
export function tempDir(): string {
  const folder = mkdtempSync(join(tmpdir(), 'leadsync-test-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isBuilt, packageRoot } from '../../platform/process/package-root.ts';
import { sqliteVersion } from '../../platform/process/sqlite-version.ts';
import { version } from '../../platform/process/version.ts';

/** What this leadsync was made from, and what it runs on. */
export interface BuildInfo {
  readonly version: string;
  /** The git commit, with `-dirty` behind it when tracked files differed; `unknown` where nobody could tell. */
  readonly commit: string;
  /** When it was built, as an ISO time; null in a checkout, which runs without a build. */
  readonly built: string | null;
  readonly node: string;
  readonly sqlite: string;
  /** The operating system and the processor: `linux x64`. */
  readonly platform: string;
}

/** Reads what the build wrote beside the code; in a checkout, asks git. */
export function buildInfo(): BuildInfo {
  const { commit, built } = bakedIn() ?? {
    commit: commitOf(packageRoot),
    built: null,
  };
  const { versions, platform, arch } = process;
  return {
    version,
    commit,
    built,
    node: versions.node,
    sqlite: sqliteVersion(),
    platform: `${platform} ${arch}`,
  };
}

/** Returns the commit that a checkout is at, with `-dirty` behind it when tracked files differ; `unknown` without git. */
export function commitOf(checkout: string): string {
  // --git-dir: an unpacked archive may lie inside somebody else's repository.
  const args = ['--git-dir=.git', 'describe', '--always', '--dirty', '--abbrev=40', '--exclude=*'];
  const { status, stdout } = spawnSync('git', args, { cwd: checkout, encoding: 'utf8', timeout: 5_000 });
  return status === 0 ? stdout.trim() : 'unknown';
}

function bakedIn(): Pick<BuildInfo, 'commit' | 'built'> | undefined {
  return isBuilt ? JSON.parse(readFileSync(join(packageRoot, 'dist/build.json'), 'utf8')) : undefined;
}

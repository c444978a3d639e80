import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isBuilt, packageRoot } from '../../platform/process/package-root.ts';
import { sqliteVersion } from '../../platform/process/sqlite-version.ts';
import { version } from '../../platform/process/version.ts';

/** The build of this leadsync, and the platform that it runs on. */
export interface BuildInfo {
  readonly version: string;
  /** The git commit, followed by `-dirty` if tracked files differed; `unknown` without git. */
  readonly commit: string;
  /** The ISO time of the build; null in a checkout, which runs without a build. */
  readonly built: string | null;
  readonly node: string;
  readonly sqlite: string;
  /** The operating system and the architecture: `linux x64`. */
  readonly platform: string;
}

/** Returns the information that the build stored; in a checkout, asks git. */
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

/** Returns the commit of a checkout, followed by `-dirty` if tracked files differ; `unknown` without git. */
export function commitOf(checkout: string): string {
  // Names --git-dir, because an unpacked archive may be inside an unrelated repository.
  const args = ['--git-dir=.git', 'describe', '--always', '--dirty', '--abbrev=40', '--exclude=*'];
  const { status, stdout } = spawnSync('git', args, { cwd: checkout, encoding: 'utf8', timeout: 5_000 });
  return status === 0 ? stdout.trim() : 'unknown';
}

function bakedIn(): Pick<BuildInfo, 'commit' | 'built'> | undefined {
  return isBuilt ? JSON.parse(readFileSync(join(packageRoot, 'dist/build.json'), 'utf8')) : undefined;
}

import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { run } from './run.ts';

/** The parts of the build context of the image. */
export interface ContextParts {
  readonly root: string;
  readonly commit: string;
  /** Modification time of every file in the archive, in seconds since 1970. */
  readonly epoch: string;
  /** An empty folder for temporary files. */
  readonly stage: string;
}

/**
 * Packs the build context for `docker buildx build - < FILE`: the Dockerfile, with the commit filled in, and the files that
 * .dockerignore includes.
 */
export function packImageContext({ root, commit, epoch, stage }: ContextParts, file: string): void {
  const ignore = readFileSync(join(root, '.dockerignore'), 'utf8');
  const wanted = [...ignore.matchAll(/^!(.+)$/gm)].map((match) => match[1] ?? '');
  for (const path of ['.dockerignore', ...wanted])
    cpSync(join(root, path), join(stage, path), { recursive: true });
  const dockerfile = readFileSync(join(root, 'Dockerfile'), 'utf8');
  writeFileSync(
    join(stage, 'Dockerfile'),
    dockerfile.replaceAll('ARG COMMIT=unknown', `ARG COMMIT=${commit}`),
  );
  const same = ['--sort=name', '--owner=0', '--group=0', '--numeric-owner', `--mtime=@${epoch}`];
  run('tar', [...same, '-C', stage, '-czf', file, '.'], root);
}

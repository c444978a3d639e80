import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { run } from './run.ts';

/** What the build context of the image is made of. */
export interface ContextParts {
  readonly root: string;
  readonly commit: string;
  /** In seconds since 1970: the time of every file in it. */
  readonly epoch: string;
  /** An empty folder to work in. */
  readonly stage: string;
}

/**
 * Packs what `docker buildx build - < FILE` needs: the Dockerfile, with the commit filled in, and the files that .dockerignore
 * lets in.
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

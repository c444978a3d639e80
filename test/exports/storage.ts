import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import S3rver, { type S3Context } from '@20minutes/s3rver';
import { onTestFinished } from 'vitest';
import { tempDir } from '../support/files/temp-dir.ts';

const BUCKET = 'exports';
/** How the server names the file of an object. */
const OBJECT = '._S3rver_object';

/** A bucket of a server that speaks S3, empty, and gone when the test is over. */
export interface Storage {
  /** What the configuration of an export says of it. */
  readonly options: Readonly<Record<string, unknown>>;
  /** The keys in the bucket, in order. */
  keys(): string[];
  /** Where the content of an object is on this machine. */
  fileOf(key: string): string;
  read(key: string): string;
  put(key: string, content: string): void;
}

/**
 * The SDK asks for a bucket as `/exports/`, and signs that; the server reckons the signature of `/exports`, unless it is told of a
 * path that stands behind the bucket.
 */
async function signedWithSlash(context: S3Context, next: () => Promise<unknown>): Promise<void> {
  if (/^\/[^/]+\/$/.test(context.path)) {
    context.state.vhost = true;
    context.mountPath = '/';
  }
  await next();
}

export async function aStorage(): Promise<Storage> {
  const directory = tempDir();
  const server = new S3rver({
    address: '127.0.0.1',
    port: 0,
    silent: true,
    directory,
    vhostBuckets: false,
    configureBuckets: [{ name: BUCKET }],
  });
  server.middleware.splice(-1, 0, signedWithSlash); // right before its routes
  const { port } = await server.run();
  onTestFinished(() => server.close());
  const folder = join(directory, BUCKET);
  const fileOf = (key: string) => join(folder, `${key}${OBJECT}`);
  return {
    options: {
      type: 's3',
      bucket: BUCKET,
      endpoint: `http://127.0.0.1:${port}`,
      path_style: true,
      access_key_id: 'S3RVER',
      secret_access_key: 'S3RVER',
    },
    keys: () =>
      readdirSync(folder, { recursive: true })
        .map(String)
        .filter((name) => name.endsWith(OBJECT))
        .map((name) => name.slice(0, -OBJECT.length))
        .sort(),
    fileOf,
    read: (key) => readFileSync(fileOf(key), 'utf8'),
    put: (key, content) => {
      mkdirSync(dirname(fileOf(key)), { recursive: true });
      writeFileSync(fileOf(key), content);
    },
  };
}

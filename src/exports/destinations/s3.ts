import { randomUUID } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { mkdir, readdir, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import {
  AbortMultipartUploadCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  PutObjectCommand,
  type S3Client,
} from '@aws-sdk/client-s3';
import { Upload } from '@aws-sdk/lib-storage';
import { openClient, requireRegion } from '../../bucket/bucket-client.ts';
import { bucketInWords } from '../../bucket/bucket-failure.ts';
import { objectsIn, uploadsIn } from '../../bucket/bucket-listing.ts';
import { disk, makeFolderDurably } from '../../platform/files/file-system.ts';
import { ExportFailed, folderFailure, nameTaken } from '../contract/export-failed.ts';
import { inOrder, isOf, isTemporaryName } from '../contract/export-name.ts';
import type { ExportTarget } from '../contract/options.ts';
import type { Destination } from './destination.ts';
import { storageFailure } from './storage-failure.ts';

type S3Target = Extract<ExportTarget, { type: 's3' }>;

/** Name of the last object of an export with several files, as in Hadoop and Spark. Such an export is incomplete without this object. */
const COMPLETE = '_SUCCESS';
/** Minimum part size in bytes; larger if a file would otherwise have too many parts. Two parts are in memory during an upload. */
const PART_BYTES = 8 * 1024 * 1024;
const AT_ONCE = 2;
const MOST_PARTS = 10_000;
const FOLDER_MODE = 0o700;
/** Names of errors for an object that the keys may not read, and for an empty object. */
const UNREADABLE: ReadonlySet<string> = new Set(['AccessDenied', 'Forbidden', 'InvalidRange']);
/** Prefix of files that were downloaded for reading. */
const READ = /^\.read-[0-9a-f-]{36}-/;

/** A bucket in S3-compatible storage as the destination of exports and backups. Each is first written to a local folder. */
export class S3 implements Destination {
  readonly #name: string;
  readonly #target: S3Target;
  readonly #client: S3Client;
  readonly folder: string;

  /** @param folder local folder that holds an export until it is in the bucket */
  constructor(name: string, target: S3Target, folder: string) {
    this.#name = name;
    this.#target = target;
    this.#client = openClient(target);
    this.folder = folder;
  }

  /** Writes an empty object, checks that the storage service lists it, and removes it. */
  async check(signal: AbortSignal): Promise<void> {
    await this.#told(signal, async () => {
      await requireRegion(this.#client);
      await this.#runs(signal);
      await uploadsIn(this.#client, this.#stretch(), signal);
      const probe = `.${this.#name}-check`;
      await this.#put(probe, signal);
      await this.#requireListed(probe, new Map([[probe, 0]]), signal);
      await this.#delete(probe, signal);
    });
  }

  async prepare(): Promise<void> {
    try {
      await makeFolderDurably(disk, this.folder, FOLDER_MODE);
    } catch (error) {
      throw folderFailure(this.folder, error) ?? error;
    }
  }

  async tidy(signal: AbortSignal): Promise<void> {
    await this.#removeStaged();
    await this.#told(signal, async () => {
      await requireRegion(this.#client);
      await this.#abortUploads(signal);
      const { parts } = await this.#runs(signal);
      for (const file of parts) await this.remove(file, signal);
    });
  }

  async bring(file: string, signal: AbortSignal): Promise<void> {
    const path = join(this.folder, file);
    try {
      await this.#told(signal, async () => {
        const isTaken = (await this.#keys(file, signal)).some((key) => runOf(key) === file);
        if (isTaken) throw nameTaken(this.nameOf(file));
        const isFolder = (await stat(path)).isDirectory();
        const names = isFolder ? inOrder(await readdir(path)).map((name) => `${file}/${name}`) : [file];
        const sizes = new Map<string, number>();
        for (const name of names) sizes.set(name, await this.#upload(name, signal));
        await this.#requireListed(file, sizes, signal);
        if (isFolder) await this.#put(`${file}/${COMPLETE}`, signal);
      });
    } finally {
      await rm(path, { recursive: true, force: true });
    }
  }

  async list(signal: AbortSignal): Promise<readonly string[]> {
    return this.#told(signal, async () => (await this.#runs(signal)).complete);
  }

  async remove(file: string, signal: AbortSignal): Promise<void> {
    await this.#told(signal, async () => {
      const keys = (await this.#keys(file, signal)).filter((key) => runOf(key) === file);
      // Delete the completion marker first, so that an interrupted removal leaves an incomplete export.
      for (const key of keys.toSorted((one, other) => Number(isMark(other)) - Number(isMark(one))))
        await this.#delete(key, signal);
    });
  }

  nameOf(file: string): string {
    return `s3://${this.#target.bucket}/${this.#keyOf(file)}`;
  }

  async readStart(file: string, bytes: number, signal: AbortSignal): Promise<Buffer> {
    const object = { Bucket: this.#target.bucket, Key: this.#keyOf(file), Range: `bytes=0-${bytes - 1}` };
    return this.#told(signal, async () => {
      try {
        const { Body } = await this.#client.send(new GetObjectCommand(object), { abortSignal: signal });
        let start = Buffer.alloc(0);
        for await (const chunk of Body as Readable) {
          start = Buffer.concat([start, chunk as Buffer]);
          if (start.length >= bytes) break; // a storage service without ranges sends the whole object
        }
        return start.subarray(0, bytes);
      } catch (error) {
        if (error instanceof Error && UNREADABLE.has(error.name)) return Buffer.alloc(0);
        throw error;
      }
    });
  }

  async read<T>(file: string, use: (path: string) => Promise<T>, signal: AbortSignal): Promise<T> {
    const path = join(this.folder, `.read-${randomUUID()}-${file}`);
    try {
      await this.#told(signal, async () => {
        const keys = (await this.#keys(file, signal)).filter((key) => runOf(key) === file && !isMark(key));
        if (!keys.every((key) => isNamedBy(file, key)))
          throw new ExportFailed(
            `${this.nameOf(file)} contains an object whose name is not that of an export file.`,
            'Remove it.',
          );
        for (const key of keys) await this.#download(key, path + key.slice(file.length), signal);
      });
      return await use(path);
    } finally {
      await rm(path, { recursive: true, force: true });
    }
  }

  close(): void {
    this.#client.destroy();
  }

  /** Uploads a file and returns its size in bytes. An abort of the signal ends the file stream, and the SDK then aborts the upload. */
  async #upload(name: string, signal: AbortSignal): Promise<number> {
    const path = join(this.folder, name);
    const { size } = await stat(path);
    signal.throwIfAborted();
    const upload = new Upload({
      client: this.#client,
      params: {
        Bucket: this.#target.bucket,
        Key: this.#keyOf(name),
        Body: createReadStream(path, { signal }),
        ...(this.#target.checksums && { ChecksumAlgorithm: 'CRC32' as const }),
      },
      queueSize: AT_ONCE,
      partSize: Math.max(PART_BYTES, Math.ceil(size / MOST_PARTS)),
    });
    await upload.done();
    return size;
  }

  /**
   * Checks that the storage service lists the objects with their sizes. A web server or a proxy may answer every request with success, and
   * a storage service may change a key, for example remove `..` or a leading `/`. `keep` and `erase` would never find an object with a
   * changed key.
   * @throws ExportFailed
   */
  async #requireListed(
    start: string,
    sizes: ReadonlyMap<string, number>,
    signal: AbortSignal,
  ): Promise<void> {
    const objects = await objectsIn(this.#client, this.#stretch(start), signal);
    for (const [name, size] of sizes) {
      const listed = objects.get(this.#keyOf(name));
      if (listed === size) continue;
      const what = listed === undefined ? 'does not list it' : `lists ${listed} bytes of ${size}`;
      throw new ExportFailed(
        `${bucketInWords(this.#target)} accepted ${this.nameOf(name)}, but ${what}.`,
        'Check that `endpoint` is the address of the storage service itself, and that the service does not change keys that begin with `prefix`.',
      );
    }
  }

  async #download(key: string, path: string, signal: AbortSignal): Promise<void> {
    await mkdir(dirname(path), { recursive: true, mode: FOLDER_MODE });
    const object = { Bucket: this.#target.bucket, Key: this.#keyOf(key) };
    const { Body } = await this.#client.send(new GetObjectCommand(object), { abortSignal: signal });
    await pipeline(Body as Readable, createWriteStream(path, { mode: 0o600 }), { signal });
  }

  /** Removes the local files that a killed run left behind. */
  async #removeStaged(): Promise<void> {
    try {
      for (const name of await readdir(this.folder))
        if (isOf(this.#name, name.replace(READ, '')) || isTemporaryName(this.#name, name))
          await rm(join(this.folder, name), { recursive: true, force: true });
    } catch (error) {
      throw folderFailure(this.folder, error) ?? error;
    }
  }

  /** Aborts the uploads of a killed run. Services that cannot list uploads remove them by themselves. */
  async #abortUploads(signal: AbortSignal): Promise<void> {
    for (const { Key, UploadId } of await uploadsIn(this.#client, this.#stretch(), signal)) {
      if (Key === undefined || !isOf(this.#name, runOf(Key.slice(this.#target.prefix.length)))) continue;
      const upload = { Bucket: this.#target.bucket, Key, UploadId };
      try {
        await this.#client.send(new AbortMultipartUploadCommand(upload), { abortSignal: signal });
      } catch (error) {
        if (!(error instanceof Error) || error.name !== 'NoSuchUpload') throw error; // a lifecycle rule of the bucket has removed it
      }
    }
  }

  async #put(name: string, signal: AbortSignal): Promise<void> {
    const object = { Bucket: this.#target.bucket, Key: this.#keyOf(name), Body: '', ContentLength: 0 };
    await this.#client.send(new PutObjectCommand(object), { abortSignal: signal });
  }

  async #delete(name: string, signal: AbortSignal): Promise<void> {
    const object = { Bucket: this.#target.bucket, Key: this.#keyOf(name) };
    await this.#client.send(new DeleteObjectCommand(object), { abortSignal: signal });
  }

  /** Returns the complete and the incomplete exports in the bucket, both oldest first. */
  async #runs(signal: AbortSignal): Promise<{ complete: readonly string[]; parts: readonly string[] }> {
    const keys = await this.#keys(`${this.#name}-`, signal);
    const marked = new Set(keys.filter(isMark).map(runOf));
    const runs = new Map(keys.map((key) => [runOf(key), !key.includes('/')]));
    const own = inOrder([...runs.keys()].filter((run) => isOf(this.#name, run)));
    const isComplete = (run: string) => runs.get(run) === true || marked.has(run);
    return { complete: own.filter(isComplete), parts: own.filter((run) => !isComplete(run)) };
  }

  /** Returns the keys that begin with `start`, without the configured prefix. */
  async #keys(start: string, signal: AbortSignal): Promise<readonly string[]> {
    const objects = await objectsIn(this.#client, this.#stretch(start), signal);
    return [...objects.keys()].map((key) => key.slice(this.#target.prefix.length));
  }

  #stretch(start = `${this.#name}-`): { Bucket: string; Prefix: string } {
    return { Bucket: this.#target.bucket, Prefix: this.#keyOf(start) };
  }

  #keyOf(name: string): string {
    return `${this.#target.prefix}${name}`;
  }

  async #told<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      signal.throwIfAborted();
      throw storageFailure(this.#target, error);
    }
  }
}

/** Returns the export to which a key belongs: `nightly-20261122T030000Z` for `nightly-20261122T030000Z/leads.parquet`. */
function runOf(key: string): string {
  return key.split('/', 1)[0] ?? '';
}

/** Whether the key has the form of an export file's key. Any other key could point outside the folder that it is downloaded to. */
function isNamedBy(run: string, key: string): boolean {
  return key === run || /^\w+\.\w+$/.test(key.slice(run.length + 1));
}

function isMark(key: string): boolean {
  return key.endsWith(`/${COMPLETE}`);
}

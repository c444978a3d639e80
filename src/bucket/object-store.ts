import { addAbortSignal, type Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import {
  AbortMultipartUploadCommand,
  CreateMultipartUploadCommand,
  GetObjectCommand,
  PutObjectCommand,
  type S3Client,
} from '@aws-sdk/client-s3';
import { withinDeadline } from '../platform/time/deadline.ts';
import { openClient, requireRegion } from './bucket-client.ts';
import { NO_STORAGE, statusOf } from './bucket-failure.ts';
import { objectPages, type Stretch } from './bucket-listing.ts';
import type { BucketAccess } from './bucket-options.ts';

/** Maximum time for reading an object, in ms. */
const READ_MS = 300_000;

/** Error codes of services that do not support `If-None-Match` on uploads. Other such services ignore the header. */
const UNKNOWN_CONDITION: ReadonlySet<string> = new Set([
  'NotImplemented',
  'InvalidArgument',
  'InvalidRequest',
]);

/** Conditions of one upload: when to stop it, and what to confirm before each of its requests. */
export interface Sending {
  readonly signal: AbortSignal;
  /** Called immediately before each request that may store the object. If it throws, leadsync does not send the request. */
  readonly beforeSending: () => void;
}

/**
 * The objects of a bucket. Sends each request only once; retries are up to the caller. Methods throw errors from the SDK, DeadlinePassed, or
 * the abort reason of the signal.
 */
export class ObjectStore {
  readonly #bucket: string;
  readonly #client: S3Client;
  #knowsCondition = true;

  constructor(access: BucketAccess) {
    this.#bucket = access.bucket;
    this.#client = openClient(access, 1);
  }

  /**
   * Stores an object in one request. Returns false if the key is taken. A service that does not support `If-None-Match` replaces an existing object
   * instead.
   */
  async create(key: string, content: Buffer, sending: Sending): Promise<boolean> {
    if (this.#knowsCondition) {
      try {
        await this.#put(key, content, sending, { IfNoneMatch: '*' });
        return true;
      } catch (error) {
        if (statusOf(error) === 412) return false;
        if (!isUnknownCondition(error)) throw error;
      }
    }
    await this.put(key, content, sending);
    this.#knowsCondition = false; // the answer was about the condition: without it, the same request succeeded
    return true;
  }

  /** Stores an object in one request, and replaces an existing one. Readers see either the whole new object or the old one. */
  put(key: string, content: Buffer, sending: Sending): Promise<void> {
    return this.#put(key, content, sending, {});
  }

  /** Whether an object has this content. Returns false if the keys do not allow leadsync to read the object. */
  async holds(key: string, content: Buffer, signal: AbortSignal): Promise<boolean> {
    try {
      // One byte more than the content, because a longer object may begin with it.
      const present = await this.#read(key, signal, `bytes=0-${content.length}`);
      return present?.equals(content) === true;
    } catch (error) {
      const isEmpty = statusOf(error) === 416;
      if (isEmpty || statusOf(error) === 403) return false;
      throw error;
    }
  }

  /** Returns the content of an object; undefined if there is no object with this key. */
  read(key: string, signal: AbortSignal): Promise<Buffer | undefined> {
    return withinDeadline(READ_MS, signal, (within) => this.#read(key, within));
  }

  /** Yields the keys that begin with `prefix`, in order. One page of the listing is in memory at a time. */
  async *keys(prefix: string, signal: AbortSignal): AsyncGenerator<string> {
    await requireRegion(this.#client);
    for await (const page of objectPages(this.#client, this.#stretch(prefix), signal))
      for (const { Key } of page) if (Key !== undefined) yield Key;
  }

  /**
   * Verifies that the bucket can be listed, and that an object with this key could be stored. Stores none: starts a multipart upload, which
   * needs the same right, and aborts it.
   */
  async probe(key: string, signal: AbortSignal): Promise<void> {
    await requireRegion(this.#client);
    await objectPages(this.#client, this.#stretch(key), signal).next();
    const object = { Bucket: this.#bucket, Key: key };
    try {
      const { UploadId } = await this.#client.send(new CreateMultipartUploadCommand(object), {
        abortSignal: signal,
      });
      await this.#client.send(new AbortMultipartUploadCommand({ ...object, UploadId }), {
        abortSignal: signal,
      });
    } catch (error) {
      const isUnknown = [405, 501].includes(statusOf(error) ?? 0); // a service without multipart uploads
      if (!isUnknown) throw error;
    }
  }

  /** Closes all connections, even with requests in progress. */
  close(): void {
    this.#client.destroy();
  }

  async #put(
    key: string,
    content: Buffer,
    { signal, beforeSending }: Sending,
    condition: { IfNoneMatch?: string },
  ): Promise<void> {
    await requireRegion(this.#client);
    const command = new PutObjectCommand({ Bucket: this.#bucket, Key: key, Body: content, ...condition });
    // The last step before the connection: the SDK may first have to wait for credentials.
    command.middlewareStack.add(
      (next) => (request) => {
        beforeSending();
        return next(request);
      },
      { step: 'deserialize', priority: 'low', name: 'beforeSending' },
    );
    const { ETag } = await this.#client.send(command, { abortSignal: signal });
    // A web server or a proxy may answer every request with success, and store nothing. The ETag of an object is strong (RFC 9110, 8.8.3).
    if (ETag === undefined || ETag.startsWith('W/'))
      throw Object.assign(new Error('no ETag'), { name: NO_STORAGE });
  }

  async #read(key: string, signal: AbortSignal, range?: string): Promise<Buffer | undefined> {
    await requireRegion(this.#client);
    const object = { Bucket: this.#bucket, Key: key, ...(range !== undefined && { Range: range }) };
    try {
      const { Body } = await this.#client.send(new GetObjectCommand(object), { abortSignal: signal });
      return await buffer(addAbortSignal(signal, Body as Readable));
    } catch (error) {
      if (error instanceof Error && error.name === 'NoSuchKey') return undefined;
      throw error;
    }
  }

  #stretch(prefix: string): Stretch {
    return { Bucket: this.#bucket, Prefix: prefix };
  }
}

function isUnknownCondition(error: unknown): boolean {
  return statusOf(error) === 501 || (error instanceof Error && UNKNOWN_CONDITION.has(error.name));
}

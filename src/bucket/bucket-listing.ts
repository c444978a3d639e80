import {
  type _Object,
  ListMultipartUploadsCommand,
  ListObjectsV2Command,
  type MultipartUpload,
  type S3Client,
} from '@aws-sdk/client-s3';
import { withinDeadline } from '../platform/time/deadline.ts';

/** Maximum time for one page of a listing, in ms. With the socket timeout alone, a storage service could send one byte at a time for ever. */
const PAGE_MS = 300_000;

/** The keys of a bucket that begin with a prefix. */
export interface Stretch {
  readonly Bucket: string;
  readonly Prefix: string;
}

interface Markers {
  readonly KeyMarker?: string | undefined;
  readonly UploadIdMarker?: string | undefined;
}

/** The answer is not a listing, or is incomplete, so it proves nothing about the content of the bucket. */
class NoListing extends Error {
  override readonly name = 'NoListing';
}

/**
 * Returns the size of every object in bytes, if the service lists it, by the key of the object.
 * @throws NoListing, DeadlinePassed, or the error from the SDK
 */
export async function objectsIn(
  client: S3Client,
  stretch: Stretch,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, number | undefined>> {
  const objects = new Map<string, number | undefined>();
  for await (const page of objectPages(client, stretch, signal))
    for (const { Key, Size } of page) if (Key !== undefined) objects.set(Key, Size);
  return objects;
}

/**
 * Yields the objects in the order of their keys, in pages of up to 1,000, of which one is in memory at a time.
 * @throws NoListing, DeadlinePassed, or the error from the SDK
 */
export function objectPages(
  client: S3Client,
  stretch: Stretch,
  signal: AbortSignal,
): AsyncGenerator<readonly _Object[]> {
  return pages(async (next: { ContinuationToken?: string | undefined }) => {
    const command = new ListObjectsV2Command({ ...stretch, ...next });
    const { IsTruncated, NextContinuationToken, Contents } = await withinDeadline(
      PAGE_MS,
      signal,
      (abortSignal) => client.send(command, { abortSignal }),
    );
    // A web page with status 200 has no such element, and would otherwise look like the listing of an empty bucket.
    if (IsTruncated === undefined) throw new NoListing();
    return {
      items: Contents,
      next: IsTruncated ? { ContinuationToken: NextContinuationToken } : undefined,
    };
  }, {});
}

/**
 * Returns every unfinished upload; an empty list if the service does not support this listing.
 * @throws NoListing, DeadlinePassed, or the error from the SDK
 */
export async function uploadsIn(
  client: S3Client,
  stretch: Stretch,
  signal: AbortSignal,
): Promise<readonly MultipartUpload[]> {
  const uploads: MultipartUpload[] = [];
  try {
    for await (const page of pages(async (next: Markers) => {
      const command = new ListMultipartUploadsCommand({ ...stretch, ...next });
      const { IsTruncated, NextKeyMarker, NextUploadIdMarker, Uploads } = await withinDeadline(
        PAGE_MS,
        signal,
        (abortSignal) => client.send(command, { abortSignal }),
      );
      return {
        items: Uploads,
        next: IsTruncated ? { KeyMarker: NextKeyMarker, UploadIdMarker: NextUploadIdMarker } : undefined,
      };
    }, {}))
      uploads.push(...page);
  } catch (error) {
    if (!(error instanceof Error) || error.name !== 'NotImplemented') throw error;
  }
  return uploads;
}

/**
 * Yields all pages. @throws NoListing if the marker of the next page is missing or the same as before, which would make the listing endless
 */
async function* pages<Item, Next extends object>(
  ask: (next: Next) => Promise<{ items: Item[] | undefined; next: Next | undefined }>,
  first: Next,
): AsyncGenerator<readonly Item[]> {
  for (let at = first; ; ) {
    const { items = [], next } = await ask(at);
    yield items;
    if (next === undefined) return;
    const place = JSON.stringify(next);
    if (place === '{}' || place === JSON.stringify(at)) throw new NoListing();
    at = next;
  }
}

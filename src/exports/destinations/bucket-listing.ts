import {
  ListMultipartUploadsCommand,
  ListObjectsV2Command,
  type MultipartUpload,
  type S3Client,
} from '@aws-sdk/client-s3';

/** Where to look in a storage: at the keys of a bucket that begin so. */
export interface Stretch {
  readonly Bucket: string;
  readonly Prefix: string;
}

interface Markers {
  readonly KeyMarker?: string | undefined;
  readonly UploadIdMarker?: string | undefined;
}

/** What was answered is no listing, or ends before its end: nothing can be concluded from it. */
class NoListing extends Error {
  override readonly name = 'NoListing';
}

/** Returns the size in bytes of every object, by its key. @throws NoListing, the SDK's error */
export async function objectsIn(
  client: S3Client,
  stretch: Stretch,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, number | undefined>> {
  const objects = new Map<string, number | undefined>();
  for await (const page of pages(async (next: { ContinuationToken?: string | undefined }) => {
    const command = new ListObjectsV2Command({ ...stretch, ...next });
    const { IsTruncated, NextContinuationToken, Contents } = await client.send(command, {
      abortSignal: signal,
    });
    // A web page with status 200 has no such element; taken for a listing, it would be that of an empty bucket.
    if (IsTruncated === undefined) throw new NoListing();
    return {
      items: Contents,
      next: IsTruncated ? { ContinuationToken: NextContinuationToken } : undefined,
    };
  }, {}))
    for (const { Key, Size } of page) if (Key !== undefined) objects.set(Key, Size);
  return objects;
}

/** Returns every upload that was begun and not ended; none where the storage cannot tell. @throws NoListing, the SDK's error */
export async function uploadsIn(
  client: S3Client,
  stretch: Stretch,
  signal: AbortSignal,
): Promise<readonly MultipartUpload[]> {
  const uploads: MultipartUpload[] = [];
  try {
    for await (const page of pages(async (next: Markers) => {
      const command = new ListMultipartUploadsCommand({ ...stretch, ...next });
      const { IsTruncated, NextKeyMarker, NextUploadIdMarker, Uploads } = await client.send(command, {
        abortSignal: signal,
      });
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

/** Asks for one page after the other. A listing that goes on nowhere, or where it began, would never end. */
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

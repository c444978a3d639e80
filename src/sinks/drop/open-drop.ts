import { disk } from '../../platform/files/file-system.ts';
import type { SinkParts } from '../sink-type.ts';
import { BucketDrop } from './bucket-drop.ts';
import type { Drop } from './drop.ts';
import { bucketOf, type DropOptions } from './drop-options.ts';
import { FolderDrop } from './folder-drop.ts';

/** Returns the drop that validated options name. It opens no connection before its first use. */
export function openDrop(options: DropOptions, parts: SinkParts): Drop {
  const bucket = bucketOf(options);
  if (bucket) return new BucketDrop(bucket.access, bucket.prefix, parts);
  return new FolderDrop(options.directory as string, parts, disk); // one of the two is set: `requireOnePlace`
}

import type { ExportConfig } from '../contract/options.ts';
import type { Destination } from './destination.ts';
import { Directory } from './directory.ts';

/** Returns the destination of an export or backup. What goes to S3 is first written to `folder`. Loads the AWS SDK only for S3. */
export async function openDestination(
  { name, target }: Pick<ExportConfig, 'name' | 'target'>,
  folder: string,
): Promise<Destination> {
  if (target.type === 'directory') return new Directory(name, target.directory);
  const { S3 } = await import('./s3.ts'); // several MB of packages that few installations need
  return new S3(name, target, folder);
}

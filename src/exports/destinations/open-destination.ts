import type { ExportConfig } from '../contract/options.ts';
import type { Destination } from './destination.ts';
import { Directory } from './directory.ts';

/** Opens where an export goes. `folder` is where one is made that goes elsewhere; the SDK is loaded only for that. */
export async function openDestination(
  { name, target }: Pick<ExportConfig, 'name' | 'target'>,
  folder: string,
): Promise<Destination> {
  if (target.type === 'directory') return new Directory(name, target.directory);
  const { S3 } = await import('./s3.ts'); // some MB of packages that few need
  return new S3(name, target, folder);
}

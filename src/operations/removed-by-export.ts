import { removedByRun } from '../exports/contract/beyond-keep.ts';
import type { ExportConfig } from '../exports/contract/options.ts';
import { openDestination } from '../exports/destinations/open-destination.ts';

/**
 * Returns the paths or addresses of the files that a run of an export or backup would remove because of `keep`. Lists the destination, and
 * changes nothing. `folder` is where exports to S3 are staged. @throws ExportFailed, the signal's reason
 */
export async function removedByExport(
  config: ExportConfig,
  { folder, now, signal }: { readonly folder: string; readonly now: Date; readonly signal: AbortSignal },
): Promise<readonly string[]> {
  if (config.keep === undefined) return [];
  const destination = await openDestination(config, folder);
  try {
    const files = await destination.list(signal);
    return removedByRun(config, files, now).map((file) => destination.nameOf(file));
  } finally {
    destination.close();
  }
}

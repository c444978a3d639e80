import { disk, type Files } from '../../../src/platform/files/file-system.ts';
import { FolderDrop } from '../../../src/sinks/drop/folder-drop.ts';
import { ParquetSink } from '../../../src/sinks/parquet/parquet.ts';
import type { SinkParts } from '../../../src/sinks/sink-type.ts';
import { someParts } from '../some-parts.ts';

/** Opens a Parquet sink, on a disk that the test may have broken. */
export function openParquet(
  directory: string,
  files: Files = disk,
  parts: Partial<SinkParts> = {},
): ParquetSink {
  return new ParquetSink(new FolderDrop(directory, someParts({ batchMax: 1000, ...parts }), files));
}

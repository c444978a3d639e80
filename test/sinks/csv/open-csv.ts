import type { z } from 'zod';
import { disk, type Files } from '../../../src/platform/files/file-system.ts';
import { CsvSink } from '../../../src/sinks/csv/csv.ts';
import { csvOptions } from '../../../src/sinks/csv/options.ts';
import { FolderDrop } from '../../../src/sinks/drop/folder-drop.ts';
import type { SinkParts } from '../../../src/sinks/sink-type.ts';
import { someParts } from '../some-parts.ts';

/** Opens a CSV sink from options as they stand in the YAML, on a disk that the test may have broken. */
export function openCsv(
  options: z.input<ReturnType<typeof csvOptions>>,
  files: Files = disk,
  parts: Partial<SinkParts> = {},
): CsvSink {
  const parsed = csvOptions().parse(options);
  const drop = new FolderDrop(parsed.directory as string, someParts({ batchMax: 1000, ...parts }), files);
  return new CsvSink(parsed, drop);
}

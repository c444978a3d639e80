import { placeNames } from '../drop/drop-options.ts';
import { defineSink } from '../sink-type.ts';
import { parquetOptions } from './options.ts';

/** Writes one file per batch, in the folder of the batch's day (UTC). leadsync can read the files back and never changes them. */
export const parquet = defineSink({
  type: 'parquet',
  summary:
    'Writes leads as Parquet files with a folder for each day, in a folder or a bucket. Each file is complete the moment it appears.',
  get options() {
    return parquetOptions();
  },
  paths: ['directory'],
  place: placeNames,
  checked: () => 'Files can be written there.',
  defaults: {
    events: ['created', 'updated'],
    batchMax: 10_000,
    batchWaitMs: 15 * 60_000,
    concurrency: 1,
    timeoutMs: 60_000,
  },
  setup: {
    option: 'directory',
    question: 'the folder to drop files in, with a folder for each day',
    standard: './archive',
    entry: (
      directory,
    ) => `  archive:                           # complete Parquet files in a folder for each day
    type: parquet
    directory: ${directory}
    batch: { max: 10000, wait: 15m }
`,
  },
  load: async () => {
    const [{ ParquetSink }, { openDrop }] = await Promise.all([
      import('./parquet.ts'),
      import('../drop/open-drop.ts'),
    ]);
    return (options, parts) => new ParquetSink(openDrop(options, parts));
  },
});

import { placeNames } from '../drop/drop-options.ts';
import { defineSink } from '../sink-type.ts';
import { csvOptions } from './options.ts';

/** Writes one file per batch. leadsync never changes a file, so an erasure does not reach it, but leadsync can read the files back. */
export const csv = defineSink({
  type: 'csv',
  summary: 'Writes leads as CSV files, in a folder or a bucket. Each file is complete the moment it appears.',
  get options() {
    return csvOptions();
  },
  paths: ['directory'],
  place: placeNames,
  checked: () => 'Files can be written there.',
  defaults: {
    events: ['created'],
    batchMax: 1000,
    batchWaitMs: 5 * 60_000,
    concurrency: 1,
    timeoutMs: 60_000,
  },
  setup: {
    option: 'directory',
    question: 'the folder to drop files in',
    standard: './drop',
    entry: (
      directory,
    ) => `  drop:                              # a complete CSV file when 1000 leads wait or the oldest has waited 5 minutes
    type: csv
    directory: ${directory}
    batch: { max: 1000, wait: 5m }
`,
  },
  load: async () => {
    const [{ CsvSink }, { openDrop }] = await Promise.all([
      import('./csv.ts'),
      import('../drop/open-drop.ts'),
    ]);
    return (options, parts) => new CsvSink(options, openDrop(options, parts));
  },
});

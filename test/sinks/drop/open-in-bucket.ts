import { CsvSink } from '../../../src/sinks/csv/csv.ts';
import { csv } from '../../../src/sinks/csv/csv-type.ts';
import { openDrop } from '../../../src/sinks/drop/open-drop.ts';
import { ParquetSink } from '../../../src/sinks/parquet/parquet.ts';
import { parquet } from '../../../src/sinks/parquet/parquet-type.ts';
import type { Sink } from '../../../src/sinks/sink.ts';
import type { SinkParts } from '../../../src/sinks/sink-type.ts';
import { someParts } from '../some-parts.ts';

/** The beginning of every key that these sinks write. */
export const PREFIX = 'acme/leads/';

/** The address of the folder in the bucket of a test storage. */
const TO = 's3://exports/acme/leads';

/** By type: opens a sink from options as they stand in the YAML. */
const openers = {
  csv: (written: unknown, parts: SinkParts) => {
    const options = csv.options.parse(written);
    return new CsvSink(options, openDrop(options, parts));
  },
  parquet: (written: unknown, parts: SinkParts) =>
    new ParquetSink(openDrop(parquet.options.parse(written), parts)),
};

/** Opens a sink whose drop is the bucket of a test storage, given the options of an export to that bucket. */
export function openInBucket(
  type: keyof typeof openers,
  storage: { readonly options: Readonly<Record<string, unknown>> },
  options: Readonly<Record<string, unknown>> = {},
  parts: Partial<SinkParts> = {},
): Sink {
  return openers[type]({ ...sinkOptionsOf(storage), ...options }, someParts({ batchMax: 1000, ...parts }));
}

/** Returns the options of a sink for the bucket of a test storage. */
export function sinkOptionsOf({ options }: { readonly options: Readonly<Record<string, unknown>> }) {
  const { type: _, bucket: __, ...access } = options;
  return { to: TO, ...access };
}

import { csv } from '../../../src/sinks/csv/csv.ts';
import { parquet } from '../../../src/sinks/parquet/parquet.ts';
import type { Sink } from '../../../src/sinks/sink.ts';
import type { SinkParts } from '../../../src/sinks/sink-type.ts';
import { someParts } from '../some-parts.ts';

/** The beginning of every key that these sinks write. */
export const PREFIX = 'acme/leads/';

/** The address of the folder in the bucket of a test storage. */
const TO = 's3://exports/acme/leads';

const types = { csv, parquet };

/** Opens a sink whose drop is the bucket of a test storage, given the options of an export to that bucket. */
export function openInBucket(
  type: keyof typeof types,
  storage: { readonly options: Readonly<Record<string, unknown>> },
  options: Readonly<Record<string, unknown>> = {},
  parts: Partial<SinkParts> = {},
): Sink {
  const { open, options: schema } = types[type] as typeof parquet;
  return open(
    schema.parse({ ...sinkOptionsOf(storage), ...options }),
    someParts({ batchMax: 1000, ...parts }),
  );
}

/** Returns the options of a sink for the bucket of a test storage. */
export function sinkOptionsOf({ options }: { readonly options: Readonly<Record<string, unknown>> }) {
  const { type: _, bucket: __, ...access } = options;
  return { to: TO, ...access };
}

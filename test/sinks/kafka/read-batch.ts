import { crc32c, Reader, readRecordsBatch } from '@platformatic/kafka';

/** A record in a topic. */
export interface StubRecord {
  readonly topic: string;
  readonly partition: number;
  readonly key: string;
  /** Null for a tombstone. */
  readonly value: string | null;
  readonly headers: Readonly<Record<string, string>>;
  /** The number of its compression: 0 for none, 1 for gzip. */
  readonly compression: number;
}

/** The first byte that the checksum of a batch covers. */
const CHECKED_FROM = 21;

/** Returns the records of a batch (KIP-98, record batch version 2). @throws Error if it is not as Kafka expects it */
export function readBatch(topic: string, partition: number, bytes: Buffer): readonly StubRecord[] {
  const batch = readRecordsBatch(Reader.from(bytes));
  const { magic, crc, firstOffset, length, lastOffsetDelta, records, attributes } = batch;
  if (magic !== 2) throw new Error('not a record batch of version 2');
  if (length !== bytes.length - 12) throw new Error('the length of the batch is wrong');
  if (crc32c(bytes.subarray(CHECKED_FROM)) !== crc) throw new Error('the checksum of the batch is wrong');
  if (firstOffset !== 0n || lastOffsetDelta !== records.length - 1) throw new Error('the offsets are wrong');
  return records.map(({ key, value, headers, offsetDelta }, index) => {
    if (offsetDelta !== index) throw new Error('an offset is wrong');
    if (!key) throw new Error('a record has no key');
    const pairs = headers.map(([name, text]) => [name?.toString(), text?.toString()]);
    const compression = attributes & 7;
    const text = value === null ? null : value.toString();
    return {
      topic,
      partition,
      key: key.toString(),
      value: text,
      headers: Object.fromEntries(pairs),
      compression,
    };
  });
}

import { pipeline, Readable } from 'node:stream';
import { parse } from 'csv-parse';

/**
 * Returns the records of a CSV file (RFC 4180) as text, including the header, while it reads the file. The iterator throws csv-parse's CsvError if
 * the content is not CSV, or the error from reading the file.
 */
export function csvRecords(content: Readable | Buffer): AsyncIterable<readonly string[]> {
  const file = content instanceof Readable ? content : Readable.from([content], { objectMode: false });
  // The iterator throws the error, and destroys the file when its consumer stops early.
  return pipeline(file, parse({ bom: true }), () => undefined);
}

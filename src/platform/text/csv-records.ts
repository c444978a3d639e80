import { pipeline, Readable } from 'node:stream';
import { parse } from 'csv-parse';

/**
 * The records of a CSV file (RFC 4180), the header among them, each cell as text; a part of them in memory at a time. Throws
 * csv-parse's CsvError for what is none, and the error of the file that it is read from.
 */
export function csvRecords(content: Readable | Buffer): AsyncIterable<readonly string[]> {
  const file = content instanceof Readable ? content : Readable.from([content], { objectMode: false });
  // Whoever reads the records is told what failed, and ends the file when he needs no more of them.
  return pipeline(file, parse({ bom: true }), () => undefined);
}

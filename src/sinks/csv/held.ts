import { join } from 'node:path';
import type { Files } from '../../platform/files.ts';
import type { HeldLead } from '../sink.ts';

const LEADS_FILE = /^leads-.*\.csv$/;
/** The end of a delivery's id: its version, the hash, and when it was replayed. */
const VERSION = /:(\d+):[0-9a-f]+(?::r\d+)?$/;

/** The leads in the files of a folder, one file in memory at a time. A file that another hand wrote, with other columns, holds none. */
export async function* heldIn(files: Files, directory: string): AsyncIterable<HeldLead> {
  for (const name of (await files.list(directory)).filter((one) => LEADS_FILE.test(one)).sort()) {
    const file = join(directory, name);
    const content = await files.read(file);
    // Taken away since it was listed: whoever reads the files may remove them.
    if (content) yield* leadsOf(file, content.toString());
  }
}

function* leadsOf(file: string, text: string): Generator<HeldLead> {
  const records = recordsOf(text.replace(/^\ufeff/, ''));
  const header = records.next().value ?? [];
  const [id, source, delivery] = ['id', '_leadsync_source', '_leadsync_delivery_id'].map((name) =>
    header.indexOf(name),
  ) as [number, number, number];
  for (const record of records) {
    const [leadId = '', from] = [record[id], record[source]];
    const version = VERSION.exec(record[delivery] ?? '')?.[1];
    if (!/^\d+$/.test(leadId) || from === undefined || version === undefined) continue;
    yield { source: from, leadId: BigInt(leadId), version: Number(version), file };
  }
}

/** The records of a CSV text (RFC 4180). */
function* recordsOf(text: string): Generator<string[], undefined> {
  const cell = /("(?:[^"]|"")*"|[^",\r\n]*)(,|\r\n|\n|$)/y;
  let record: string[] = [];
  while (cell.lastIndex < text.length) {
    const [, written = '', end] = cell.exec(text) ?? [];
    if (end === undefined) return undefined; // what follows is no CSV
    record.push(written.startsWith('"') ? written.slice(1, -1).replaceAll('""', '"') : written);
    if (end === ',') continue;
    yield record;
    record = [];
  }
  return undefined;
}

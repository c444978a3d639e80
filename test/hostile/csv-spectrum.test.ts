import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import { describe, expect, test } from 'vitest';
import { openCsv } from '../sinks/csv/open-csv.ts';
import { tempDir } from '../support/files/temp-dir.ts';
import { aBatch, aDelivery } from '../support/scene/a-delivery.ts';
import { aLead } from '../support/scene/a-lead.ts';
import { csvFiles } from '../support/scene/scene.ts';
import { csvSpectrum, type SpectrumTable } from './corpora.ts';
import { python, readByPython, readRecords, readRows } from './csv-reading.ts';

const READERS = `csv-parse and ${python ?? 'WITHOUT python3, which is absent here'}`;

if (csvSpectrum) {
  const tables = [...csvSpectrum];
  describe('what csv-spectrum holds reads back the same from what the sink writes', () => {
    test.each(tables)(`$name (by ${READERS})`, (table) => roundTrip(table));
  });
} else {
  test('csv-spectrum is ABSENT here: its tables were NOT tested', () => {
    expect(csvSpectrum).toBeUndefined();
  });
}

/** Every name and value of the table goes through cells of every text column. */
async function roundTrip({ text, rows }: SpectrumTable): Promise<void> {
  // The reader is right about this table, or what it says of ours would mean nothing.
  expect(parse(text, { columns: true })).toEqual(rows);
  const cells = rows.flatMap((row) => Object.entries(row).flat());
  const directory = tempDir();
  const leads = cells.map((cell, at) => aDelivery({ leadId: BigInt(at + 1), raw: leadOf(cell) }));
  await openCsv({ directory, formulas: 'keep' }).deliver(aBatch(leads), new AbortController().signal);
  const written = readRows(directory).map((row) => [
    row['client_name'],
    row['client_address'],
    row['all_details_one_liner'],
  ]);
  expect(written).toEqual(cells.map((cell) => [cell, cell, `${cell}\n--\nAddress: ${cell}\n`]));
  const files = csvFiles(directory).map((name) => join(directory, name));
  if (python !== undefined) expect(readByPython(files)).toEqual(files.map(readRecords));
}

function leadOf(cell: string): string {
  return aLead({
    client_name: cell,
    client_address: { friendly_address: cell },
    all_details_one_liner: `${cell}\n--\nAddress: ${cell}\n`,
  });
}

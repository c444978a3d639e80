import type { Batch } from '../../leads/delivery.ts';
import { neutraliseCell } from '../../platform/text/formula-injection.ts';
import type { Drop } from '../drop/drop.ts';
import { DropSink } from '../drop/drop-sink.ts';
import { csvFile } from './csv-file.ts';
import type { ContentOptions } from './options.ts';
import { storedFormat } from './stored-leads.ts';

/** Writes a CSV file for each batch. */
export class CsvSink extends DropSink {
  constructor({ formulas, bom }: ContentOptions, drop: Drop) {
    const makeSafe = formulas === 'neutralise' ? neutraliseCell : (cell: string) => cell;
    const contentOf = (batch: Batch) => csvFile(batch, { makeSafe, bom });
    const textOf = (batch: Batch) => contentOf(batch).toString();
    super(drop, { format: storedFormat, folderOf: () => '', contentOf, textOf });
  }
}

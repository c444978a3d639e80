import { readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { DamagedFile, type StoredRow } from '../../../src/ledger/recovery/damaged-file.ts';
import { aUsedLedger } from './a-used-ledger.ts';
import { PageMap } from './damage.ts';

const PAGE = 4096;
/** Bytes of the head of a leaf page (https://www.sqlite.org/fileformat2.html, section 1.6). */
const PAGE_HEAD = 8;

/** Returns the distinct numbers of a table's rows, from a file that can be read to its end. */
function numbersOf(file: string, table: string, column: string): ReadonlySet<unknown> {
  const damaged = new DamagedFile(file);
  const rows: StoredRow[] = [];
  try {
    for (const row of damaged.rows(table, { missed: 0n, complete: true })) {
      rows.push(row);
      expect(rows.length, 'the rows are read again and again').toBeLessThan(10_000);
    }
  } finally {
    damaged.close();
  }
  return new Set(rows.map((row) => row[column]).filter((no) => no !== 0n));
}

/** Returns the numbers of the leaf pages of `_deliveries` in row order, and the number of rows on each. */
async function aLedger() {
  const { file } = await aUsedLedger();
  const leaves = new PageMap(file)
    .of('_deliveries', 'leaf')
    .toSorted((one, other) => (one.path < other.path ? -1 : 1));
  return { file, leaves };
}

test('a file that ends within a page is read to its end', async () => {
  const { file, leaves } = await aLedger();
  const all = numbersOf(file, '_deliveries', 'delivery_no');
  const [cut = 0] = leaves.map(({ pageno }) => pageno).slice(-3);
  // The head of a page has no rows; a full page has some right behind it.
  truncateSync(file, (cut - 1) * PAGE + PAGE_HEAD);
  const lost = leaves.filter(({ pageno }) => pageno >= cut).reduce((sum, { ncell }) => sum + ncell, 0);
  expect(numbersOf(file, '_deliveries', 'delivery_no').size).toBe(all.size - lost);
});

test.each([
  { swapped: [0, 2], lost: 3, where: 'before a page that cannot be read' },
  { swapped: [0, 8], lost: 1, where: 'around a page that cannot be read' },
] as const)('pages that swapped places $where hide no row', async ({ swapped: [one, other], lost }) => {
  const { file, leaves } = await aLedger();
  const all = numbersOf(file, '_deliveries', 'delivery_no');
  const bytes = readFileSync(file);
  const page = (at: number) => {
    const start = ((leaves[at]?.pageno ?? 0) - 1) * PAGE;
    return bytes.subarray(start, start + PAGE);
  };
  const first = Buffer.from(page(one));
  page(other).copy(page(one));
  first.copy(page(other));
  page(lost).fill(0);
  writeFileSync(file, bytes);
  expect(numbersOf(file, '_deliveries', 'delivery_no').size).toBe(all.size - (leaves[lost]?.ncell ?? 0));
});

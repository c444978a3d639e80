import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openToAnalysts, relations } from '../../src/catalog/catalog.ts';
import { asReader, withFreshLead } from './reading-store.ts';

const page = (name: string) => readFileSync(join(import.meta.dirname, '../../docs', name), 'utf8');

function blocksOf(text: string): readonly string[] {
  return [...text.matchAll(/```sql\n(.*?)```/gs)].map((match) => match[1] ?? '');
}

describe('docs/metabase.md', () => {
  const text = page('metabase.md');
  const blocks = blocksOf(text);

  it('has ten questions, whose SQL runs as the user that it says to make, with a date and without', async () => {
    expect([...text.matchAll(/^(?:\| |### )\d+\. /gm)]).toHaveLength(10);
    const stores = await withFreshLead();
    const ask = await asReader(stores);
    for (const sql of blocks) {
      const plain = await ask(sql.replace(/\[\[.*?\]\]/g, ''));
      // What it asks of the last days, no held clock can answer.
      if (!sql.includes('now()')) expect(plain.rows.length, sql).toBeGreaterThan(0);
      const dated = sql.replace(/\[\[(.*?)\]\]/g, '$1').replaceAll('{{since}}', "date '2030-01-01'");
      if (dated !== sql) expect((await ask(dated)).rows, sql).toEqual([]);
    }
  });

  it('names views and columns that are there, and that this user may read', () => {
    const rows = [...text.matchAll(/^\| \d+\. .*$/gm)].map(([row]) => row.split(' | '));
    expect(rows).toHaveLength(5);
    for (const [, view = '', ...cells] of rows) {
      const name = view.replaceAll('`', '');
      expect(openToAnalysts).toContain(name);
      const columns = relations.find((one) => one.name === name)?.columns.map((column) => column.name);
      const shown = [...cells.join(' ').matchAll(/`([^`]+)`/g)].map((match) => match[1] ?? '');
      for (const column of shown) expect(columns).toContain(column.toLowerCase().replaceAll(' ', '_'));
    }
  });
});

describe('docs/store.md', () => {
  const text = page('store.md');

  it('has an example of a join that runs on both stores, and gives the same answer', async () => {
    const stores = await withFreshLead();
    const [example = ''] = blocksOf(text);
    const ledger = stores.inLedger(`${example} ORDER BY 1, 2`);
    expect(ledger.length).toBeGreaterThan(0);
    expect(await stores.inPostgres(`${example} ORDER BY 1, 2`)).toEqual(ledger);
  });

  it('says how what changed in a lead is read in each store', async () => {
    const stores = await withFreshLead();
    const [, ledger = '', postgres = ''] =
      /one row for each \| `([^`]+)`.*? \| `([^`]+)`, then `f\.value` \|/.exec(text) ?? [];
    const sql = (from: string) =>
      `SELECT f.value AS field, count(*) AS n ${from} WHERE v.version > 1 GROUP BY 1 ORDER BY 1`;
    const known = stores.inLedger(sql(ledger));
    expect(known.map(({ field }) => field)).toContain('client_name');
    expect(await stores.inPostgres(sql(postgres))).toEqual(known);
  });
});

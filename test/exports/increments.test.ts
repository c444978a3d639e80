import { describe, expect, it } from 'vitest';
import { relations } from '../../src/catalog/catalog.ts';
import type { FileFormatName } from '../../src/exports/files/file-formats.ts';
import { Chance } from '../simulation/chance.ts';
import { Lake } from './lake.ts';
import { RandomHistory } from './random-history.ts';

const STEPS = 80;
/** Tables whose rows `retention` empties or removes in the ledger alone. */
const RETAINED = [
  'leads',
  'lead_answers',
  'lead_versions',
  'attempts',
  'rejected_leads',
  'v_leads',
  'v_leads_no_pii',
  'v_lead_timeline',
];

type Between = (history: RandomHistory) => Promise<void>;

/** Lets a history happen, and exports after some of its steps what is new since the export before began. */
async function lakeOf(seed: number, format: FileFormatName, between: Between = async () => undefined) {
  const chance = new Chance(seed, 'increments');
  const history = new RandomHistory(chance);
  await history.begin();
  const { clock } = history.on;
  const lake = new Lake(history.disk.file, format);
  let since = clock.now();
  const addNew = async () => {
    const now = clock.now();
    await lake.add(since);
    since = now;
  };
  await lake.add(undefined);
  for (let step = 0; step < STEPS; step += 1) {
    await history.step();
    if (chance.oneIn(8)) await addNew();
    if (chance.oneIn(20)) await between(history);
  }
  await addNew();
  await lake.add(undefined, 'whole');
  return { together: await lake.together('lake-*'), whole: await lake.together('whole') };
}

describe('a whole export and the incremental ones after it', () => {
  it.each<[FileFormatName, number]>([
    ['parquet', 1],
    ['csv', 2],
    ['jsonl', 3],
  ])('give what a whole one gives, put together as documented (%s)', async (format, seed) => {
    const { together, whole } = await lakeOf(seed, format);
    for (const { name } of relations) expect(together.get(name), name).toEqual(whole.get(name));
  });

  it('keep what retention has removed from the ledger, and lack nothing that it has left', async () => {
    const { together, whole } = await lakeOf(4, 'csv', (history) => history.retain());
    for (const { name, key, columns } of relations) {
      if (!RETAINED.includes(name)) expect(together.get(name), name).toEqual(whole.get(name));
      const named =
        key.length > 0 ? key : columns.map((column) => column.name).filter((one) => one !== 'detail');
      const keysOf = (rows: readonly string[] = []) =>
        new Set(rows.map((row) => JSON.stringify(named.map((column) => JSON.parse(row)[column]))));
      expect([...keysOf(whole.get(name)).difference(keysOf(together.get(name)))], name).toEqual([]);
    }
  });
});

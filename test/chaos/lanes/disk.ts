import type { Chance } from '../../simulation/chance.ts';
import type { SmallDisk } from '../../support/files/small-disk.ts';
import { type Deed, lengthOf, oneOf, type Spell, spells } from '../deed.ts';

/** Draws the troubles of the CSV files' folder: full, read-only, or missing. */
export function drawDropDisk(chance: Chance, endMs: number): Deed<SmallDisk>[] {
  return spells(chance, endMs, [3_000, 12_000], [500, 6_000]).flatMap((spell) =>
    oneOf(chance, [full, readOnly, gone])(spell),
  );
}

/** Draws the troubles of the ledger's disk, which is full now and then. */
export function drawLedgerDisk(chance: Chance, endMs: number): Deed<SmallDisk>[] {
  return spells(chance, endMs, [10_000, 40_000], [300, 4_000]).flatMap(full);
}

function full(spell: Spell): Deed<SmallDisk>[] {
  return [
    { atMs: spell.fromMs, text: `full for ${lengthOf(spell)}`, act: (disk) => disk.fill() },
    { atMs: spell.toMs, text: 'has room again', act: (disk) => disk.free() },
  ];
}

function readOnly(spell: Spell): Deed<SmallDisk>[] {
  return [
    { atMs: spell.fromMs, text: `read-only for ${lengthOf(spell)}`, act: (disk) => disk.protect() },
    { atMs: spell.toMs, text: 'can be written to again', act: (disk) => disk.unprotect() },
  ];
}

function gone(spell: Spell): Deed<SmallDisk>[] {
  return [
    { atMs: spell.fromMs, text: `its folder is gone for ${lengthOf(spell)}`, act: (disk) => disk.hide() },
    { atMs: spell.toMs, text: 'its folder is back', act: (disk) => disk.show() },
  ];
}

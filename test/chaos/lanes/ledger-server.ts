import type { Chance } from '../../simulation/chance.ts';
import { type Deed, lengthOf, oneOf, type Range, type Spell, spells } from '../deed.ts';
import type { LedgerOnServer } from '../ledgers/ledger-on-server.ts';
import type { WatchedWire } from '../watched-wire.ts';
import { BEYOND_LEASE } from './leadsync.ts';

const SHORT: Range = [200, 1_500];
/** Shorter than what is left of a lease when its attempt has ended. */
const LONG: Range = [500, 4_000];

/** Tables that other clients lock. */
const TABLES = ['_deliveries', '_batches', '_leads', '_sinks'] as const;

/** Draws the troubles of the server of the ledger: stopped immediately, frozen, its sessions ended, a table locked by another client. */
export function drawLedgerServer(chance: Chance, endMs: number): Deed<LedgerOnServer>[] {
  return spells(chance, endMs, [3_000, 10_000], SHORT, LONG).flatMap((spell) =>
    oneOf(chance, [killed, killed, frozen, ended, locked])(chance, spell),
  );
}

/** Draws the troubles of a machine's line to that server: cut, unplugged, standing still, slow. `alone`: no other machine can take over. */
export function drawLine(chance: Chance, endMs: number, alone: boolean): Deed<WatchedWire>[] {
  const troubles = alone ? [SHORT, LONG] : [SHORT, LONG, LONG, BEYOND_LEASE];
  return spells(chance, endMs, [1_000, 8_000], ...troubles).flatMap((spell) =>
    oneOf(chance, [cut, unplugged, still, slow])(chance, spell),
  );
}

function killed(_: Chance, spell: Spell): Deed<LedgerOnServer>[] {
  return [
    { atMs: spell.fromMs, text: `killed for ${lengthOf(spell)}`, act: (it) => it.crash() },
    { atMs: spell.toMs, text: 'started again', act: (it) => it.restart() },
  ];
}

function frozen(_: Chance, spell: Spell): Deed<LedgerOnServer>[] {
  return [
    { atMs: spell.fromMs, text: `frozen for ${lengthOf(spell)}`, act: (it) => it.freeze() },
    { atMs: spell.toMs, text: 'goes on', act: (it) => it.thaw() },
  ];
}

function ended(_: Chance, { fromMs: atMs }: Spell): Deed<LedgerOnServer>[] {
  return [{ atMs, text: 'all sessions ended', act: (it) => it.endSessions() }];
}

function locked(chance: Chance, spell: Spell): Deed<LedgerOnServer>[] {
  const table = oneOf(chance, TABLES);
  const seconds = (spell.toMs - spell.fromMs) / 1000;
  const text = `its table ${table} was locked for ${lengthOf(spell)}`;
  return [{ atMs: spell.fromMs, text, act: (it) => it.lock(table, seconds) }];
}

function cut(_: Chance, { fromMs: atMs }: Spell): Deed<WatchedWire>[] {
  return [{ atMs, text: 'all connections reset', act: (it) => it.cut() }];
}

function unplugged(_: Chance, spell: Spell): Deed<WatchedWire>[] {
  return troubled(spell, 'unplugged', (it) => it.unplug());
}

function still(_: Chance, spell: Spell): Deed<WatchedWire>[] {
  return troubled(spell, 'passes nothing on', (it) => it.stall());
}

function slow(chance: Chance, spell: Spell): Deed<WatchedWire>[] {
  const ms = chance.between(5, 150);
  return troubled(spell, `passes everything on ${ms} ms later`, (it) => it.delay(ms));
}

function troubled(spell: Spell, what: string, act: (wire: WatchedWire) => void): Deed<WatchedWire>[] {
  return [
    { atMs: spell.fromMs, text: `${what} for ${lengthOf(spell)}`, act },
    { atMs: spell.toMs, text: 'works again', act: (it) => it.heal() },
  ];
}

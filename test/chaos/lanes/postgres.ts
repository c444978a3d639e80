import type { Chance } from '../../simulation/chance.ts';
import type { Scene } from '../../support/scene/scene.ts';
import type { PrivatePostgres } from '../../support/servers/private-postgres.ts';
import { type Deed, lengthOf, oneOf, type Spell, spells } from '../deed.ts';

/** The server, and a way to query it. */
export interface Database {
  readonly server: PrivatePostgres;
  readonly query: Scene['query'];
  readonly schema: string;
}

/** Draws the troubles of PostgreSQL: killed, frozen, disconnected, its table locked by another client. */
export function drawPostgres(chance: Chance, endMs: number): Deed<Database>[] {
  return spells(chance, endMs, [2_000, 9_000], [300, 5_000]).flatMap((spell) =>
    oneOf(chance, [killed, killed, frozen, cut, locked])(spell),
  );
}

function killed(spell: Spell): Deed<Database>[] {
  return [
    { atMs: spell.fromMs, text: `killed for ${lengthOf(spell)}`, act: ({ server }) => server.crash() },
    { atMs: spell.toMs, text: 'started again', act: ({ server }) => server.restart() },
  ];
}

function frozen(spell: Spell): Deed<Database>[] {
  return [
    { atMs: spell.fromMs, text: `frozen for ${lengthOf(spell)}`, act: ({ server }) => server.freeze() },
    { atMs: spell.toMs, text: 'goes on', act: ({ server }) => server.thaw() },
  ];
}

function cut({ fromMs: atMs }: Spell): Deed<Database>[] {
  const cutAll =
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'";
  return [{ atMs, text: 'all connections cut', act: async ({ query }) => void (await query(cutAll)) }];
}

function locked(spell: Spell): Deed<Database>[] {
  const seconds = (spell.toMs - spell.fromMs) / 1000;
  const act = async ({ query, schema }: Database) =>
    void (await query(
      `BEGIN; LOCK TABLE ${schema}.leads IN ACCESS EXCLUSIVE MODE; SELECT pg_sleep(${seconds}); COMMIT`,
    ));
  return [{ atMs: spell.fromMs, text: `its table was locked for ${lengthOf(spell)}`, act }];
}

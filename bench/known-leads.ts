import { constants, cpSync, rmSync } from 'node:fs';
import { type Install, install, runLeadsync, type Wanted } from './leadsync-under-test.ts';
import { settleDisk } from './servers.ts';
import type { Workbench } from './workbench.ts';

const known = new Map<number, Promise<Install>>();

/** Returns a stopped leadsync without sinks whose ledger has the first `leads` leads. Prepares it once. */
export function leadsyncThatKnows(workbench: Workbench, leads: number): Promise<Install> {
  const made = known.get(leads) ?? learn(workbench, leads);
  known.set(leads, made);
  return made;
}

/** Keeps a stopped leadsync without sinks for `leadsyncThatKnows`, or removes it if there is already one with as many leads. */
export function keepAsKnown(leads: number, offered: Install): void {
  if (known.has(leads)) rmSync(offered.dataDir, { recursive: true });
  else known.set(leads, Promise.resolve(offered));
}

async function learn(workbench: Workbench, leads: number): Promise<Install> {
  workbench.tell(`preparing a ledger with ${leads.toLocaleString('en')} leads`);
  await workbench.world.show({ leads });
  const prepared = await install(workbench);
  // Without `env`, this run writes no CPU profile.
  await runLeadsync({ ...workbench, env: {} }, prepared, ['sync']);
  settleDisk();
  return prepared;
}

/** Copies the data directory of a stopped leadsync to a new one with a configuration of its own. */
export async function copyOf(workbench: Workbench, { dataDir }: Install, wanted: Wanted): Promise<Install> {
  const copy = await install(workbench, wanted);
  cpSync(dataDir, copy.dataDir, { recursive: true, mode: constants.COPYFILE_FICLONE });
  settleDisk();
  return copy;
}

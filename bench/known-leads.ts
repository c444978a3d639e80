import { constants, cpSync, rmSync } from 'node:fs';
import { type Install, install, runLeadsync, type Wanted } from './leadsync-under-test.ts';
import { settleDisk } from './servers.ts';
import type { Workbench } from './workbench.ts';

const known = new Map<number, Promise<Install>>();

/** A leadsync that knows the first `leads` leads, has no sinks, and has ended. Made once. */
export function leadsyncThatKnows(workbench: Workbench, leads: number): Promise<Install> {
  const made = known.get(leads) ?? learn(workbench, leads);
  known.set(leads, made);
  return made;
}

/** Offers a leadsync that has ended, knows the first `leads` leads and has no sinks. What is not wanted is removed. */
export function keepAsKnown(leads: number, offered: Install): void {
  if (known.has(leads)) rmSync(offered.dataDir, { recursive: true });
  else known.set(leads, Promise.resolve(offered));
}

async function learn(workbench: Workbench, leads: number): Promise<Install> {
  workbench.tell(`preparing a ledger of ${leads.toLocaleString('en')} leads`);
  await workbench.world.show({ leads });
  const prepared = await install(workbench);
  // Its profile would only be in the way.
  await runLeadsync({ ...workbench, env: {} }, prepared, ['sync']);
  settleDisk();
  return prepared;
}

/** Another leadsync with the same ledger as one that has ended, and a configuration of its own. */
export async function copyOf(workbench: Workbench, { dataDir }: Install, wanted: Wanted): Promise<Install> {
  const copy = await install(workbench, wanted);
  cpSync(dataDir, copy.dataDir, { recursive: true, mode: constants.COPYFILE_FICLONE });
  settleDisk();
  return copy;
}

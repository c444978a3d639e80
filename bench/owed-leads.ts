import { type Install, install, runLeadsync, type Wanted } from './leadsync-under-test.ts';
import type { Workbench } from './workbench.ts';

/** A stopped leadsync with pending deliveries, and its configuration. */
export interface Prepared {
  readonly install: Install;
  readonly wanted: Wanted & Required<Pick<Wanted, 'sinks'>>;
}

/** Prepares a stopped leadsync that owes every lead of `main` to the sinks in `to`. */
export async function leadsyncThatOwes(
  workbench: Workbench,
  leads: number,
  wanted: Prepared['wanted'],
  to: readonly string[] = Object.keys(wanted.sinks),
): Promise<Prepared> {
  const quiet = { ...workbench, env: {} };
  workbench.tell('preparing a backlog');
  const prepared = await install(workbench, wanted);
  // The first sync, of an empty listing, records the sinks in the ledger. Then they are paused, and the second sync records the leads.
  await workbench.world.show({ leads: 0 });
  await runLeadsync(quiet, prepared, ['sync']);
  for (const sink of to) await runLeadsync(quiet, prepared, ['pause', sink]);
  await workbench.world.show({ leads });
  await runLeadsync(quiet, prepared, ['sync'], { exitCode: to.length > 0 ? 1 : 0 });
  for (const sink of to) await runLeadsync(quiet, prepared, ['resume', sink]);
  return { install: prepared, wanted };
}

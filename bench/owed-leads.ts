import { type Install, install, runLeadsync, type Wanted } from './leadsync-under-test.ts';
import type { Workbench } from './workbench.ts';

/** A leadsync that has ended and owes leads, and what it was configured with. */
export interface Prepared {
  readonly install: Install;
  readonly wanted: Wanted & Required<Pick<Wanted, 'sinks'>>;
}

/** Makes a leadsync that owes every lead of `main` to those of its sinks that `to` names, and has ended. */
export async function leadsyncThatOwes(
  workbench: Workbench,
  leads: number,
  wanted: Prepared['wanted'],
  to: readonly string[] = Object.keys(wanted.sinks),
): Promise<Prepared> {
  const quiet = { ...workbench, env: {} };
  workbench.tell('preparing a backlog');
  const prepared = await install(workbench, wanted);
  // The first sync, of nothing, makes the ledger know its sinks; then they are paused, and the second one fills it.
  await workbench.world.show({ leads: 0 });
  await runLeadsync(quiet, prepared, ['sync']);
  for (const sink of to) await runLeadsync(quiet, prepared, ['pause', sink]);
  await workbench.world.show({ leads });
  await runLeadsync(quiet, prepared, ['sync'], { exitCode: to.length > 0 ? 1 : 0 });
  for (const sink of to) await runLeadsync(quiet, prepared, ['resume', sink]);
  return { install: prepared, wanted };
}

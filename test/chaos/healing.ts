import { setTimeout as sleep } from 'node:timers/promises';
import { countOwed } from '../support/scene/is-owing.ts';
import { type Account, accountOf } from '../support/scene/oracle.ts';
import { type Scene, SINKS } from '../support/scene/scene.ts';
import { Patience } from '../support/time/patience.ts';
import { until } from '../support/time/until.ts';
import { changeOnceMore } from './last-changes.ts';
import { allReady, processesOf } from './machine.ts';
import { MAPPED } from './mappings/form.ts';
import { type Plan, SPLIT } from './plan.ts';
import { CANARIES, type World } from './world.ts';

/** The state after everything was healed and came to rest. */
export interface Healed {
  /** The account, taken after leadsync was stopped. */
  readonly account: Account;
  /** The time from the end of the last trouble until nothing was owed, in s; undefined if that did not happen. */
  readonly seconds: number | undefined;
  /** What healing should have achieved and did not. */
  readonly faults: readonly string[];
}

/** Time without any progress after which leadsync counts as stuck, in s. A held sink is probed every minute. */
const STUCK_AFTER_S = 200;
/** Maximum time until leadsync has noticed the last change of the configuration, in ms. */
const IN_FORCE_MS = 30_000;
const READY_MS = 60_000;
const LAST_LEADS = 25;

/** Heals everything and waits until nothing is owed; then retries the dead deliveries and waits again. */
export async function healAndRest(
  plan: Plan,
  world: World,
  tell: (part: string, text: string) => void,
  signal: AbortSignal,
): Promise<Healed> {
  const { machines, operator, configuration } = world.parts;
  await world.heal();
  const startMs = performance.now();
  tell('all', 'everything is healed');
  for (const process of processesOf(machines)) process.calm();
  for (const { daemon } of machines) {
    if (!plan.healRunning || !daemon.sound) await daemon.end('SIGTERM');
    daemon.start();
  }
  await allReady(machines, READY_MS);
  for (const sink of [...MAPPED, plan.destination]) await resumeIfPaused(world, sink);
  // The troubles may have left them held, and the last changes need leads that are under way.
  for (const sink of SPLIT) await operator.run('resume', sink);
  const undone = await changeOnceMore(world, plan.lastForms.changes);
  for (const { worker } of machines) await worker.end('SIGTERM');
  configuration.map(plan.lastForms.last);
  // The last leads come when no earlier mapping is in force any more, so that each of them must have the last one.
  const notInForce = await lastMappings(world);
  for (const service of Object.values(world.scene.services)) service.addLeads(LAST_LEADS);
  const watched = [...SINKS, plan.destination];
  let account = await rest(world, watched, signal);
  const seconds = isAtRest(account, watched) ? (performance.now() - startMs) / 1000 : undefined;
  if (Object.values(account.sinks).some(({ dead }) => dead.length > 0)) {
    tell('operator', 'retries what is dead');
    await operator.run('retry', '--state', 'dead');
    account = await rest(world, watched, signal);
  }
  for (const { daemon } of machines) await daemon.end('SIGTERM');
  const restless =
    seconds === undefined ? [`something is still owed, and no delivery was made for ${STUCK_AFTER_S} s`] : [];
  const faults = [...undone, ...notInForce, ...restless];
  return { account: await accountOf(world.scene, { raw: CANARIES }), seconds, faults };
}

/** Waits until the last mappings are in force. Returns what is wrong if that does not happen. */
async function lastMappings({ inForce }: World): Promise<string[]> {
  try {
    await until('the last mappings are in force', () => inForce.unsettled().length === 0, IN_FORCE_MS);
    return [];
  } catch (error) {
    return [error instanceof Error ? error.message : String(error)];
  }
}

/** Resumes a sink that a 410 or an operator has paused, which only an operator can do. */
async function resumeIfPaused({ scene, parts }: World, sink: string): Promise<void> {
  const { stdout } = await scene.run('status', '--json');
  const { sinks } = JSON.parse(stdout) as { sinks: { sink: string; paused_since: string | null }[] };
  if (sinks.some((one) => one.sink === sink && one.paused_since)) await parts.operator.run('resume', sink);
}

/**
 * Waits until the account is that of an idle leadsync, or until leadsync is stuck: the deliveries owed and the leads that no listing has
 * contained become no fewer for a time. Returns the last account.
 */
async function rest({ scene }: World, sinks: readonly string[], signal: AbortSignal): Promise<Account> {
  let patience = new Patience();
  let fewest = Number.POSITIVE_INFINITY;
  for (;;) {
    await sleep(250, undefined, { signal });
    const owed = await countOwed(scene.adminUrl);
    const left = (owed ?? fewest) + countUnlisted(scene);
    if (left < fewest) {
      fewest = left;
      patience = new Patience();
    }
    const isStuck = patience.spentMs > STUCK_AFTER_S * 1000;
    if (!isStuck && (owed !== 0 || left > 0)) continue;
    const account = await accountOf(scene, { raw: CANARIES });
    if (isStuck || isAtRest(account, sinks)) return account;
  }
}

/** Returns how many leads the services show that no listing has contained. */
function countUnlisted(scene: Scene): number {
  const services = Object.values(scene.services);
  const shown = services.reduce((sum, service) => sum + service.shown, 0) - CANARIES.length;
  return shown - scene.served().length;
}

function isAtRest(account: Account, sinks: readonly string[]): boolean {
  return sinks.every((sink) => {
    const { pending = [], lost = [], stale = [] } = account.sinks[sink] ?? {};
    return pending.length + lost.length + stale.length === 0;
  });
}

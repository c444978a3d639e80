import { expect, onTestFinished } from 'vitest';
import { type RunningLeadsync, startLeadsync } from '../../support/program/leadsync.ts';
import { aScene } from '../../support/scene/a-scene.ts';
import type { Account, Allowed } from '../../support/scene/oracle.ts';
import type { CarrierName, Scene, SceneOptions, SinkName } from '../../support/scene/scene.ts';
import { until } from '../../support/time/until.ts';
import { expectKept } from '../kept.ts';

/** Longer than any test: work of a dead process must be reclaimed because it is dead, not because a lease ends. */
const TIMEOUT = '10m';

/** Opens a scene in which single sinks can be blocked: see `runUntilKilled`. */
export function aSceneToKillIn(
  carrier: CarrierName,
  { leads = 300, sinks = {}, ...options }: SceneOptions & { leads?: number } = {},
): Promise<Scene> {
  return aScene(carrier, {
    stub: { leads },
    ...options,
    sinks: {
      crm: { timeout: TIMEOUT, ...sinks.crm },
      drop: { timeout: TIMEOUT, batch: { max: 1_000, wait: waitOf('drop') } },
      // The mirror commits too, at times of its own; the failpoints count only commits of deliveries.
      warehouse: { timeout: TIMEOUT, batch: { max: 1_000, wait: waitOf('warehouse') }, mirror: false },
    },
  });
}

/**
 * Runs leadsync with armed failpoints until it has killed itself; fails if it never reaches the place. Only the sinks in `reached` accept
 * leads, so that no other delivery is cut off. Without failpoints, `meanwhile` has to kill it.
 */
export async function runUntilKilled(
  scene: Scene,
  failpoints: string | undefined,
  reached: readonly SinkName[] = [],
  meanwhile: (leadsync: RunningLeadsync) => void = () => undefined,
): Promise<RunningLeadsync> {
  if (!reached.includes('crm')) scene.receiver.answerAlways(() => undefined);
  const waits = (['drop', 'warehouse'] as const).map((sink) => [
    variableOf(sink),
    reached.includes(sink) ? '0s' : '1h',
  ]);
  const env = { LEADSYNC_FAILPOINTS: failpoints, ...Object.fromEntries(waits) };
  const leadsync = startLeadsync(['run', '-c', scene.configFile], { env });
  onTestFinished(() => void leadsync.process.kill('SIGKILL'));
  meanwhile(leadsync);
  const ended = () => leadsync.process.signalCode ?? leadsync.process.exitCode;
  const how = await until(`leadsync has died of ${failpoints ?? 'the kill'}`, ended, 30_000).catch(
    (cause: unknown) => {
      throw new Error(`leadsync did not get there.\n${leadsync.stderr}`, { cause });
    },
  );
  expect(how, leadsync.stderr).toBe('SIGKILL');
  await leadsync.exited;
  await scene.receiver.disconnected(); // otherwise it might accept what the dead process sent, unseen by the test
  scene.receiver.answerAlways(204);
  return leadsync;
}

/**
 * Starts leadsync as a supervisor would, lets it come to rest, and compares the account with the promise. Stops it only once the log
 * contains what `logged` looks for.
 */
export async function expectRecovery(
  scene: Scene,
  allowed: Allowed,
  logged: (log: RunningLeadsync['log']) => boolean = () => true,
): Promise<{ account: Account; log: RunningLeadsync['log'] }> {
  const daemon = await scene.start();
  await until('the log contains the awaited event', () => logged(daemon.log), 60_000);
  return { account: await expectKept(scene, daemon, allowed), log: daemon.log };
}

/** Returns the part of the configuration's text that one run can replace with another value. */
function waitOf(sink: SinkName): string {
  return `\${${variableOf(sink)}:-200ms}`;
}

function variableOf(sink: SinkName): string {
  return `${sink.toUpperCase()}_WAIT`;
}

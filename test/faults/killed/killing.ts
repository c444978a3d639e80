import { expect, onTestFinished } from 'vitest';
import { type RunningLeadsync, startLeadsync } from '../../support/program/leadsync.ts';
import { aScene } from '../../support/scene/a-scene.ts';
import type { Account, Allowed } from '../../support/scene/oracle.ts';
import type { CarrierName, Scene, SceneOptions, SinkName } from '../../support/scene/scene.ts';
import { until } from '../../support/time/until.ts';
import { expectKept } from '../kept.ts';

/** Longer than any test: what a dead process held is free because it is dead, and not when a lease ends. */
const TIMEOUT = '10m';

/** A scene in which single sinks can be kept from getting anything: see `runUntilKilled`. */
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
      // The mirror commits too, whenever its turn comes: what is counted here are the commits of deliveries.
      warehouse: { timeout: TIMEOUT, batch: { max: 1_000, wait: waitOf('warehouse') }, mirror: false },
    },
  });
}

/**
 * Runs leadsync with its failpoints armed until it has killed itself; a place that is never reached fails the test. Only
 * the sinks in `reached` get anything: the others accept nothing, so that no other delivery is cut off. Without failpoints
 * it is for `meanwhile` to kill it.
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
  await scene.receiver.disconnected(); // else it would take what the dead process had sent, and nobody would learn of it
  scene.receiver.answerAlways(204);
  return leadsync;
}

/**
 * Starts leadsync as a supervisor would, lets it come to rest, and holds the account against the promise. It is stopped only
 * when the log shows what `logged` looks for.
 */
export async function expectRecovery(
  scene: Scene,
  allowed: Allowed,
  logged: (log: RunningLeadsync['log']) => boolean = () => true,
): Promise<{ account: Account; log: RunningLeadsync['log'] }> {
  const daemon = await scene.start();
  await until('the log says what is waited for', () => logged(daemon.log), 60_000);
  return { account: await expectKept(scene, daemon, allowed), log: daemon.log };
}

/** The end of a configuration's text that one run can be given a different value for. */
function waitOf(sink: SinkName): string {
  return `\${${variableOf(sink)}:-200ms}`;
}

function variableOf(sink: SinkName): string {
  return `${sink.toUpperCase()}_WAIT`;
}

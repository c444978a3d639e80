import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import type { Daemon } from '../support/program/leadsync.ts';
import { type Account, type Allowed, accountOf, faultsOf } from '../support/scene/oracle.ts';
import type { Scene } from '../support/scene/scene.ts';
import { until } from '../support/time/until.ts';
import { expectCalm } from './calm.ts';

/** Minimum time between two checks whether every lead has arrived. */
const LOOK_MS = 200;
/** Maximum share of the time spent checking: a check takes seconds with many leads, and this process also serves the webhook receiver. */
const LOOKING_PART = 0.1;
const REST_MS = 90_000;

/**
 * Gives a daemon `restMs` to bring every lead to every sink, stops it, and compares the account with the promise.
 * @returns the account
 */
export async function expectKept(
  scene: Scene,
  daemon: Daemon,
  allowed: Allowed,
  restMs = REST_MS,
): Promise<Account> {
  await expectComplete(scene, daemon, allowed, restMs);
  await expectCalm(daemon);
  expect(await daemon.kill('SIGTERM')).toEqual({ code: 0, signal: null });
  const account = await accountOf(scene);
  expect(faultsOf(account, allowed)).toEqual([]);
  return account;
}

/** Waits until every lead is at every sink. On failure, reports what is wrong and what leadsync logged last. */
async function expectComplete(scene: Scene, daemon: Daemon, allowed: Allowed, restMs: number): Promise<void> {
  const complete = async () => {
    const startMs = performance.now();
    if (await scene.complete()) return true;
    return await sleep(Math.max(LOOK_MS, (performance.now() - startMs) / LOOKING_PART), false);
  };
  try {
    await until('every lead is everywhere', complete, restMs);
  } catch (cause) {
    const faults = faultsOf(await accountOf(scene), allowed).join('\n');
    const { stdout } = await scene.run('status');
    const last = daemon.stderr.split('\n').slice(-20).join('\n');
    throw new Error(`${scene.served().length} leads were served.\n${faults}\n${stdout}\n${last}`, { cause });
  }
}

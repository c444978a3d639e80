import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import type { Daemon } from '../support/program/leadsync.ts';
import { type Account, type Allowed, accountOf, faultsOf } from '../support/scene/oracle.ts';
import type { Scene } from '../support/scene/scene.ts';
import { until } from '../support/time/until.ts';
import { expectCalm } from './calm.ts';

/** The least time between two looks whether every lead is everywhere. */
const LOOK_MS = 200;
/** Looking takes seconds when leads are many, and the receiver of webhooks is served by this very process. */
const LOOKING_PART = 0.1;
const REST_MS = 90_000;

/**
 * Lets a daemon come to rest with every lead everywhere, for which it has `restMs`, stops it, and holds the account against
 * the promise.
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

/** Waits until every lead is everywhere; in vain, it says what is amiss, and what leadsync logged last. */
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

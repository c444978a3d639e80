import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import type { Daemon } from '../support/leadsync.ts';
import { type Account, accountOf, faultsOf } from '../support/oracle.ts';
import type { Scene } from '../support/scene.ts';
import { until } from '../support/until.ts';
import { expectCalm } from './calm.ts';

/** To look whether every lead is everywhere takes its time when there are many. */
const LOOK_MS = 200;

/**
 * Lets a daemon come to rest with every lead everywhere, stops it, and holds the account against the promise.
 * @returns the account
 */
export async function expectKept(
  scene: Scene,
  daemon: Daemon,
  allowed: { repeats: boolean },
): Promise<Account> {
  const complete = async () => (await scene.complete()) || sleep(LOOK_MS, false);
  await until('every lead is everywhere', complete, 90_000);
  await expectCalm(daemon);
  expect(await daemon.kill('SIGTERM')).toEqual({ code: 0, signal: null });
  const account = await accountOf(scene);
  expect(faultsOf(account, allowed)).toEqual([]);
  return account;
}

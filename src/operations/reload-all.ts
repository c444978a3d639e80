import { randomUUID } from 'node:crypto';
import type { LedgerConfig } from '../config/contract/config.ts';
import { isShared } from '../ledger/contract/machines.ts';
import type { ProcessRow, ReloadAnswer } from '../ledger/contract/status-rows.ts';
import { DUTY_LEASE_MS } from '../ledger/rules/machines/lease-times.ts';
import type { Clock, Random } from '../platform/time/clock.ts';
import { openConfiguredLedger } from './opening/configured-ledger.ts';

/** Interval for repeating the request, which may get lost, and for looking for answers, in ms. */
const REPEAT_MS = 500;

/** A process that was asked to reload. `answer` is undefined if it has not answered in time. */
export interface AskedProcess {
  readonly machine: string;
  readonly role: string;
  readonly answer: ReloadAnswer | undefined;
}

/**
 * Asks every `run` and `worker` that lives on the ledger to read its configuration again, and waits up to `withinMs` for their answers. Returns each
 * process with its answer; undefined if the ledger is one that only one machine can use. @throws LedgerError
 */
export async function reloadAll(
  config: LedgerConfig,
  { clock, random, withinMs }: { readonly clock: Clock; readonly random: Random; readonly withinMs: number },
): Promise<readonly AskedProcess[] | undefined> {
  const ledger = await openConfiguredLedger(config, { clock, random, create: false });
  try {
    if (!isShared(ledger)) return undefined;
    const machines = ledger.machines(DUTY_LEASE_MS);
    const request = randomUUID();
    const living = async () => ((await ledger.status()).machines?.processes ?? []).filter(canReload);
    const asked = new Map((await living()).map((one) => [one.holder, one]));
    const isOpen = ({ facts }: ProcessRow) => facts?.reload?.request !== request;
    const untilMs = clock.monotonicMs() + withinMs;
    while ([...asked.values()].some(isOpen) && clock.monotonicMs() < untilMs) {
      await machines.tell({ kind: 'reload', request });
      await clock.sleep(REPEAT_MS);
      for (const one of await living()) if (asked.has(one.holder)) asked.set(one.holder, one);
    }
    return [...asked.values()].map((one) => ({
      machine: one.machine,
      role: one.role,
      answer: isOpen(one) ? undefined : one.facts?.reload,
    }));
  } finally {
    await ledger.close();
  }
}

function canReload({ isMissing, role }: ProcessRow): boolean {
  return !isMissing && (role === 'run' || role === 'worker');
}

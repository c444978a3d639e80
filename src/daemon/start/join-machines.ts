import type { Ledger } from '../../ledger/contract/ledger.ts';
import { LedgerError } from '../../ledger/contract/ledger-error.ts';
import { isShared, type Machines, type OwnLife } from '../../ledger/contract/machines.ts';
import type { ReloadAnswer } from '../../ledger/contract/status-rows.ts';
import { DUTY_LEASE_MS } from '../../ledger/rules/machines/lease-times.ts';
import type { Closers } from '../../platform/process/closers.ts';
import { version } from '../../platform/process/version.ts';
import type { Clock } from '../../platform/time/clock.ts';
import type { TelemetryOptions } from '../../telemetry/telemetry.ts';
import { LeasedDuties } from '../duties/leased-duties.ts';
import { requireOwnFolders } from './require-own-folders.ts';

/** The sinks to which a process dispatches, and those whose folder is only on its machine. */
type ShownSinks = Pick<OwnLife, 'sinks' | 'folders'>;

interface JoinOptions {
  readonly role: string;
  readonly clock: Clock;
  readonly machine: string;
  /** Returns the fingerprint of the configuration in force. */
  readonly fingerprint: () => string;
}

/** What a process has to do with those of other machines on its ledger. */
export interface SharedParts {
  readonly machines: Machines;
  /** Also shows which other processes there are, and that this one is alive. */
  readonly duties: LeasedDuties;
  /** Whether the ledger no longer names this process. Until then, a start on the same data directory must be able to see that it is dead. */
  readonly hasLeft: () => boolean;
  /**
   * Tells the other processes, before it resolves, which sinks this one has. They then keep them declared. @throws LedgerError `moved`
   */
  readonly showSinks: (sinks: ShownSinks) => Promise<void>;
  /** Shows what became of a request to reload. Resolves once the others can see it. */
  readonly showReload: (answer: ReloadAnswer) => Promise<void>;
  /**
   * Requires that no process of another machine has one of these sinks, whose folder is only on this machine. Waits until it is known whether a process
   * that may have been killed lives. @throws LedgerError `held`
   */
  readonly requireAlone: (folders: readonly string[]) => Promise<void>;
}

/**
 * Shows the other processes of the ledger that this one is alive, until its parts are closed. Returns undefined if no other machine can work on the
 * ledger. @throws LedgerError `moved` if the ledger was moved since it was opened
 */
export async function joinMachines(
  ledger: Ledger,
  { role, clock, machine, fingerprint }: JoinOptions,
  closers: Closers,
): Promise<SharedParts | undefined> {
  if (!isShared(ledger)) return undefined;
  const machines = ledger.machines(DUTY_LEASE_MS);
  let shown: ShownSinks = { sinks: [], folders: [] };
  let reload: ReloadAnswer | undefined;
  const facts = () => ({ version, config: fingerprint(), clockMs: clock.now().getTime(), reload });
  const own = () => ({ machine, role, ...shown, facts: facts() });
  // A beat fails when the server does not answer, which every call to the ledger reports.
  const onFailure = () => undefined;
  const duties = new LeasedDuties({ machines, clock, own, leaseMs: DUTY_LEASE_MS, onFailure });
  const stopping = new AbortController();
  const first = duties.beatNow();
  const beating = duties.run(stopping.signal);
  closers.push(() => {
    stopping.abort();
    return beating;
  });
  const requireHere = () => {
    const { failure } = duties;
    if (failure instanceof LedgerError && failure.code === 'moved') throw failure;
  };
  await first;
  requireHere();
  const showSinks = async (sinks: ShownSinks) => {
    shown = sinks;
    await duties.beatNow();
    requireHere();
  };
  const showReload = async (answer: ReloadAnswer) => {
    reload = answer;
    await duties.beatNow();
  };
  const requireAlone = (folders: readonly string[]) =>
    requireOwnFolders(folders, duties.others, machine, clock);
  return { machines, duties, hasLeft: () => duties.hasLeft, showSinks, showReload, requireAlone };
}

/** Returns what the metrics say of the machines: this process, the others that live, and the duties of this one. */
export function machineReaders(
  { duties }: SharedParts,
  role: { readonly kind: string },
): NonNullable<TelemetryOptions['machines']> {
  const { others } = duties;
  return {
    roles: () => [
      role.kind,
      ...others.all.filter((one) => !others.isDead(one.holder)).map((one) => one.role),
    ],
    duties: () => duties.held(),
  };
}

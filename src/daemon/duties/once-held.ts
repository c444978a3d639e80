import type { DutyWork, KnownProcess } from '../../ledger/contract/machines.ts';
import type { Clock } from '../../platform/time/clock.ts';
import type { Duties, Duty } from './duties.ts';
import type { LeasedDuties } from './leased-duties.ts';

/** Interval for checking who holds the duty, in ms. */
const CHECK_MS = 100;

/** What `onceHeld` works with. */
interface HoldingParts {
  readonly duties: Duties;
  /** Absent: no other machine works on the ledger. */
  readonly shared: { readonly duties: Pick<LeasedDuties, 'holderOf' | 'others'> } | undefined;
  readonly clock: Clock;
}

/**
 * Runs `work` once, when this process holds the duty. Does not wait for another process that holds it and lives, and returns that process; waits for the
 * lease of one that was killed. Returns undefined if the work was done, or if `signal` aborted.
 */
export async function onceHeld(
  duty: Duty,
  work: DutyWork,
  { duties, shared, clock }: HoldingParts,
  signal: AbortSignal,
): Promise<KnownProcess | undefined> {
  const ending = new AbortController();
  const end = () => ending.abort();
  signal.addEventListener('abort', end, { once: true });
  if (signal.aborted) end();
  let isRunning = false;
  const working = duties
    .whileHeld(
      duty,
      async (held, lost) => {
        isRunning = true;
        await work(held, lost).finally(() => {
          isRunning = false;
        });
      },
      ending.signal,
    )
    .finally(end);
  working.catch(() => undefined); // awaited below
  const elsewhere = shared && (await livingHolder(duty, shared.duties, () => isRunning, clock, ending));
  await working;
  signal.removeEventListener('abort', end);
  return elsewhere;
}

/** Returns the other process that holds a duty once that renews its lease, and ends the wait for the duty; undefined if the wait ends before. */
async function livingHolder(
  duty: Duty,
  duties: Pick<LeasedDuties, 'holderOf' | 'others'>,
  isRunning: () => boolean,
  clock: Clock,
  ending: AbortController,
): Promise<KnownProcess | undefined> {
  let first = duties.holderOf(duty);
  while (!ending.signal.aborted) {
    const held = isRunning() ? undefined : duties.holderOf(duty);
    const holder = held && duties.others.of(held.holder);
    if (holder && first?.holder === held?.holder && first !== undefined && held.renewals > first.renewals) {
      ending.abort();
      return holder;
    }
    if (held?.holder !== first?.holder) first = held;
    await clock.sleep(CHECK_MS, ending.signal);
  }
  return undefined;
}

import { isBuilt } from './package-root.ts';

/**
 * The failpoints, in the order in which a lead passes them. At each one, a test can kill the process, freeze it, or make a system call
 * fail.
 */
const PLACES = [
  /** A block of the listing has been read but not recorded. */
  'listing-read',
  /** In the transaction that records the block. */
  'recording',
  /** The block has been recorded, but dispatch does not know that yet. */
  'recorded',
  /** A batch has been claimed, but the carrier does not have it. */
  'claimed',
  /** The carrier has the batch, but dispatch does not know that yet. */
  'offered',
  /** The attempt has begun, but the sink has not been called. */
  'begun',
  /** The sink has returned outcomes, but the ledger does not have them yet. */
  'accepted',
  /** In the transaction that settles the attempt. */
  'settling',
  /** The attempt has been settled, but the carrier still has the batch. */
  'settled',
  /** In the transaction that empties an erased lead, after the transaction that records that the erasure has begun. */
  'erasing',
  /** The person's data is gone from the ledger, but not from the sinks. */
  'erased',
  /** The data is gone from the write-ahead log too, but the end of the erasure has not been recorded. */
  'scrubbed',
  /** The service has issued a token, but it is not on disk. */
  'token-received',
  /** The token is on disk, but has not been used. */
  'token-saved',
  /** In a PostgreSQL transaction that may have written something, before and after COMMIT. */
  'postgres-commit',
  'postgres-committed',
  /** In a transaction of MySQL or MariaDB that may have written something, before and after COMMIT. */
  'mysql-commit',
  'mysql-committed',
  /** While a damaged ledger is replaced: its write-ahead log has been emptied. */
  'recover-log-emptied',
  /** The damaged ledger also has the name under which it is kept. */
  'recover-kept',
  /** The recovered ledger has taken its place. */
  'recover-exchanged',
  /** While a backup is restored: its other files are in the data directory, but its ledger is not in its place. */
  'restore-prepared',
  /** The restored ledger is in its place. */
  'restored',
  /** While a ledger is copied: a part of a table has been committed. */
  'copy-part',
  /** The copy has been compared with its source, which is marked as moved. */
  'copy-moved',
  /** The copy is a ledger. */
  'copy-finished',
  /** The steps of writing a file. */
  'file-write',
  'file-sync',
  'file-rename',
] as const;

/** The name of a failpoint. */
export type Failpoint = (typeof PLACES)[number];

/** An armed failpoint: kills or freezes the process with a signal, or throws an error with a system code. */
interface ArmedFailpoint {
  readonly fault: 'kill' | 'freeze' | { readonly code: string };
  /** The first passage at which the fault occurs, counted from 1. */
  readonly from: number;
  /** Number of passages at which the fault occurs. */
  readonly times: number;
  passed: number;
}

const EXAMPLE = 'settled=kill@3,file-sync=ENOSPC*2';

let armed: Map<Failpoint, ArmedFailpoint> | undefined;
let askedFor: string | undefined;

/** The states in the array of `threadToPark`: the thread works, has been asked to park, or is parked. */
const WORKS = 0;
const ASKED = 1;
const PARKED = 2;
let threadState: Int32Array | undefined;

/**
 * Returns the state to pass to a thread that calls `parkWhenAsked`. From this call on, `freeze` waits until that thread is parked.
 * Otherwise `freeze` could stop the thread inside a transaction, and every other process would wait for the lock until this process
 * continues.
 */
export function threadToPark(): Int32Array {
  threadState = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  return threadState;
}

/** Parks this thread between two turns of its event loop whenever the process is about to freeze. Never resolves. */
export async function parkWhenAsked(state: Int32Array): Promise<never> {
  while (true) {
    await Atomics.waitAsync(state, 0, WORKS).value;
    Atomics.store(state, 0, PARKED);
    Atomics.notify(state, 0);
    Atomics.wait(state, 0, PARKED);
  }
}

/** Returns the argument of the last `armFailpoints`, if any, so that a new thread can arm the same failpoints. */
export function failpointsAskedFor(): string | undefined {
  return askedFor;
}

/**
 * Arms the failpoints in `LEADSYNC_FAILPOINTS`: `PLACE=kill`, `PLACE=freeze` or `PLACE=ENOSPC` (any error code), separated by commas.
 * With `@3` the fault occurs at the third passage, and with `*2` twice in a row (default once).
 * @throws Error for an unknown place or fault, and for any failpoint in a build
 */
export function armFailpoints(text: string | undefined, isBuild = isBuilt): void {
  armed = undefined;
  askedFor = text;
  if (!text) return;
  if (isBuild)
    throw new Error(
      'LEADSYNC_FAILPOINTS is for tests and works only in a source checkout. Remove it from the environment.',
    );
  armed = new Map(text.split(',').map(readOne));
}

/** Triggers the fault of an armed failpoint. Does nothing if the failpoint is not armed. */
export function reach(place: Failpoint): void {
  if (armed === undefined) return;
  const point = armed.get(place);
  if (!point) return;
  point.passed += 1;
  if (point.passed < point.from || point.passed >= point.from + point.times) return;
  if (typeof point.fault === 'object')
    throw Object.assign(new Error(`${point.fault.code}: asked for at ${place}`), { code: point.fault.code });
  if (point.fault === 'kill') process.kill(process.pid, 'SIGKILL');
  else freeze();
}

function freeze(): void {
  if (threadState) {
    Atomics.store(threadState, 0, ASKED);
    Atomics.notify(threadState, 0);
    Atomics.wait(threadState, 0, ASKED);
  }
  process.kill(process.pid, 'SIGSTOP');
  if (!threadState) return;
  Atomics.store(threadState, 0, WORKS);
  Atomics.notify(threadState, 0);
}

function readOne(text: string): [Failpoint, ArmedFailpoint] {
  const parts = /^([a-z-]+)=(kill|freeze|E[A-Z0-9]+)(?:@(\d+))?(?:\*(\d+))?$/.exec(text.trim());
  const place = PLACES.find((known) => known === parts?.[1]);
  if (!parts || !place) {
    throw new Error(
      `LEADSYNC_FAILPOINTS: "${text}" is not a fault. Write, for example, ${EXAMPLE}; the places are ${PLACES.join(', ')}.`,
    );
  }
  const [, , fault = '', from = '1', times = '1'] = parts;
  const what = fault === 'kill' || fault === 'freeze' ? fault : { code: fault };
  return [place, { fault: what, from: Number(from), times: Number(times), passed: 0 }];
}

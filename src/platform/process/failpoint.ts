import { isBuilt } from './package-root.ts';

/**
 * The places at which a fault can be asked for, in the order in which a lead passes them: so that a test can end the
 * process, freeze it, or break the disk at exactly that step.
 */
const PLACES = [
  /** A block of the listing was read and is not recorded. */
  'listing-read',
  /** In the transaction that records it. */
  'recording',
  /** It is recorded, and nobody has been told. */
  'recorded',
  /** A batch was claimed, and the carrier does not have it. */
  'claimed',
  /** The carrier has it, and dispatch does not know. */
  'offered',
  /** The attempt has begun, and the sink was not called. */
  'begun',
  /** The sink has answered, and the ledger does not know. */
  'accepted',
  /** In the transaction that settles the attempt. */
  'settling',
  /** The ledger knows, and the carrier still has the batch. */
  'settled',
  /** In the transaction that empties a lead which is erased, behind the one that notes that it is to be. */
  'erasing',
  /** The ledger has nothing of the person any more, the sinks have. */
  'erased',
  /** Nothing is left in the ledger's log either, and that the erasure is finished is not noted. */
  'scrubbed',
  /** The service gave a new token, and it is not on disk. */
  'token-received',
  /** It is on disk, and was never used. */
  'token-saved',
  /** In a transaction of PostgreSQL that may have written something, before and after its COMMIT. */
  'postgres-commit',
  'postgres-committed',
  /** In the exchange of a damaged ledger: its log is emptied, it has its second name, the recovered one is in its place. */
  'recover-log-emptied',
  'recover-kept',
  'recover-exchanged',
  /** The steps of writing a file. */
  'file-write',
  'file-sync',
  'file-rename',
] as const;

/** A place at which a fault can be asked for. */
export type Failpoint = (typeof PLACES)[number];

/** What to do at a place: end or freeze the process by a signal, or fail with an error code of the system. */
interface Armed {
  readonly fault: 'kill' | 'freeze' | { readonly code: string };
  /** Faults from this passage on, counted from 1, … */
  readonly from: number;
  /** … so many times. */
  readonly times: number;
  passed: number;
}

const EXAMPLE = 'settled=kill@3,file-sync=ENOSPC*2';

let armed: Map<Failpoint, Armed> | undefined;
let askedFor: string | undefined;

/** What `threadToPark` shares: the thread works, is asked to park, or is parked. */
const WORKS = 0;
const ASKED = 1;
const PARKED = 2;
let threadState: Int32Array | undefined;

/**
 * For a thread that `parkWhenAsked`: from now on `freeze` waits until it is parked. Else it might be frozen within a transaction, and
 * every other process would wait for its lock until the thaw.
 */
export function threadToPark(): Int32Array {
  threadState = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  return threadState;
}

/** Parks this thread, between two turns of its event loop, whenever the process is about to be frozen. Never ends. */
export async function parkWhenAsked(state: Int32Array): Promise<never> {
  while (true) {
    await Atomics.waitAsync(state, 0, WORKS).value;
    Atomics.store(state, 0, PARKED);
    Atomics.notify(state, 0);
    Atomics.wait(state, 0, PARKED);
  }
}

/** What `armFailpoints` was last called with: a thread arms its own. */
export function failpointsAskedFor(): string | undefined {
  return askedFor;
}

/**
 * Arms what `LEADSYNC_FAILPOINTS` asks for: `PLACE=kill`, `PLACE=freeze` or `PLACE=ENOSPC` (any error code), separated by
 * commas. `@3` lets two passages go by first, `*2` makes it happen twice (once without it). A build refuses them.
 * @throws Error when a place or a fault is unknown, and in a build
 */
export function armFailpoints(text: string | undefined, isBuild = isBuilt): void {
  armed = undefined;
  askedFor = text;
  if (!text) return;
  if (isBuild)
    throw new Error('LEADSYNC_FAILPOINTS is for tests of a checkout. Remove it from the environment.');
  armed = new Map(text.split(',').map(readOne));
}

/** Does what was asked for at this place; nothing when nothing was. */
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

function readOne(text: string): [Failpoint, Armed] {
  const parts = /^([a-z-]+)=(kill|freeze|E[A-Z0-9]+)(?:@(\d+))?(?:\*(\d+))?$/.exec(text.trim());
  const place = PLACES.find((known) => known === parts?.[1]);
  if (!parts || !place) {
    throw new Error(
      `LEADSYNC_FAILPOINTS: "${text}" is no fault. Write for example ${EXAMPLE}; the places are ${PLACES.join(', ')}.`,
    );
  }
  const [, , fault = '', from = '1', times = '1'] = parts;
  const what = fault === 'kill' || fault === 'freeze' ? fault : { code: fault };
  return [place, { fault: what, from: Number(from), times: Number(times), passed: 0 }];
}

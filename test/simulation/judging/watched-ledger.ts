import type { ListedItem } from '../../../src/leads/listed-lead.ts';
import type { Ledger } from '../../../src/ledger/contract/ledger.ts';
import type { Life } from '../life.ts';
import type { Shown } from '../outside/service.ts';
import type { Versions } from './versions.ts';
import type { Witness } from './witness.ts';

interface Watching {
  readonly life: Life;
  readonly witness: Witness;
  readonly onCall: (method: string) => void;
  /** Returns the content of the listing that is being recorded. */
  readonly shown: () => Shown;
  readonly versions: Versions;
}

/** Wraps the ledger for one process: the process can die at every call, and the witness sees what was written. */
export function watched(ledger: Ledger, { life, witness, onCall, shown, versions }: Watching): Ledger {
  /** The newest version when batches were claimed and begun in one step, by lease. */
  const newestAtClaim = new Map<number, number>();
  /** If a lead has several contents, the ledger rejects all but one. */
  const uncontested = (items: readonly ListedItem[]) =>
    items.filter(({ id, hash }) => id !== undefined && shown().get(id) === hash);
  const seen: Partial<Ledger> = {
    claim: async (request) => {
      const newest = versions.newest();
      const claimed = await ledger.claim(request);
      if (request.beginForMs === undefined) return claimed;
      for (const { lease } of claimed.refs) newestAtClaim.set(lease, newest);
      witness.claimed(life, claimed.refs);
      return claimed;
    },
    begin: async (ref, leaseMs) => {
      const newest = newestAtClaim.get(ref.lease) ?? versions.newest();
      const begun = await ledger.begin(ref, leaseMs);
      if (begun) witness.began(life, ref, leaseMs, begun.batch, versions.outdated(begun.batch, newest));
      return begun;
    },
    settle: async (ref, attempt) => {
      try {
        const settled = await ledger.settle(ref, attempt);
        witness.settled(life, ref, attempt.outcomes, settled);
        return settled;
      } catch (error) {
        witness.notSettled(life, ref);
        throw error;
      }
    },
    release: async (ref, mayHaveArrived) => {
      const released = await ledger.release(ref, mayHaveArrived);
      if (released) witness.released(life, ref, mayHaveArrived);
      return released;
    },
    clockWentBack: async (byMs) => {
      // Setting the clock moves every lease back, including those of attempts that began after it was set.
      const excuse = () => witness.excuseOpen('the clock was set');
      excuse();
      const moved = await ledger.clockWentBack(byMs);
      excuse();
      return moved;
    },
    unknownElements: async (poll, block) => {
      const news = new Set(await ledger.unknownElements(poll, block));
      const known = block.elements().filter((element) => !news.has(element));
      witness.recorded(uncontested(known.map((element) => element.read())));
      return [...news];
    },
    record: async (poll, items) => {
      const recorded = await ledger.record(poll, items);
      witness.recorded(uncontested(items));
      return recorded;
    },
    finishPoll: async (poll, end) => {
      const summary = await ledger.finishPoll(poll, end);
      if (end.status === 'success') witness.listed(shown());
      return summary;
    },
  };
  return new Proxy(ledger, {
    get: (_, key) => {
      const method: unknown = Reflect.get(seen, key) ?? Reflect.get(ledger, key);
      if (typeof method !== 'function') return method;
      // Called all the time: a process that could die at each call would do little else.
      if (key === 'changedElsewhere') return async () => !life.isDead && (await ledger.changedElsewhere());
      return (...values: unknown[]) => {
        onCall(String(key));
        const place = key === 'begin' || key === 'settle' ? 'attempt' : 'crossing';
        return life.act(() => Promise.resolve(Reflect.apply(method, ledger, values)), place);
      };
    },
  });
}

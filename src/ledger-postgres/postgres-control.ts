import type {
  ActionGroup,
  ActionTotals,
  LedgerControl,
  ReplayCancellation,
  ReplayTotals,
} from '../ledger/contract/ledger-control.ts';
import type { ActionFilter, SelectedState } from '../ledger/contract/ledger-queries.ts';
import { addToGroups } from '../ledger/rules/control/action-groups.ts';
import { addStep, type CancelStep } from '../ledger/rules/control/cancelling.ts';
import { bringsBack } from '../ledger/rules/control/selecting.ts';
import { backfill } from './control/backfill.ts';
import { cancel, countCancellable, stop } from './control/cancelling.ts';
import { declareSinks, declareSources, lastDeclaration } from './control/declaring.ts';
import { forgetChunk, forgettable } from './control/forgetting.ts';
import { discard, discardable, pause, resume, retriable, retry } from './control/operator-actions.ts';
import { abandoned, addTotals, ask, countStep, findChosen, step } from './control/replaying.ts';
import { type Position, selectPart } from './control/selecting.ts';
import type { PostgresAccess } from './database/postgres-access.ts';
import { findSink } from './database/sinks.ts';
import type { Transaction } from './database/transaction.ts';
import { clockAt } from './delivering/clock-setting.ts';
import type { ServerClock } from './delivering/server-clock.ts';
import { keysOf, nextKeys, removeKeys, storeKeys } from './privacy/client-keys.ts';
import { findOld, removeOld } from './privacy/retaining.ts';

/** Returns the methods of `LedgerControl` that a ledger in PostgreSQL has, for the process that is called `holder`. */
export function controlOf(access: PostgresAccess, serverClock: ServerClock, holder: string) {
  const finishReplay = async (replay: number): Promise<number> => {
    for (;;) {
      const { owed, done } = await access.owe((tx) => step(tx, replay));
      if (done) return owed;
    }
  };

  /** Selects deliveries and changes them, part by part. Returns how many were changed. */
  const change = async (
    filter: ActionFilter,
    states: readonly SelectedState[],
    apply: (tx: Transaction, numbers: readonly number[]) => Promise<number>,
  ): Promise<number> => {
    let changed = 0;
    let after: Position | undefined;
    do {
      const from = after;
      const { found, owe } = await access.find((tx) => selectPart(tx, filter, states, from));
      const { numbers, next } = found;
      if (numbers.length > 0) changed += await owe((tx) => apply(tx, numbers));
      after = next;
    } while (after);
    return changed;
  };

  /** Selects deliveries and describes what an action would change, part by part. */
  const count = async (
    filter: ActionFilter,
    states: readonly SelectedState[],
    describe: (tx: Transaction, numbers: readonly number[]) => Promise<ActionGroup[]>,
  ): Promise<ActionTotals> => {
    const groups = new Map<string, ActionGroup>();
    const unmatched: string[] = [];
    let after: Position | undefined;
    do {
      const from = after;
      const part = await access.ask(async (tx) => {
        const selected = await selectPart(tx, filter, states, from);
        return { ...selected, found: await describe(tx, selected.numbers) };
      });
      for (const one of part.found) addToGroups(groups, one);
      unmatched.push(...part.unmatched);
      after = part.next;
    } while (after);
    const sorted = [...groups.values()].sort((one, other) => other.deliveries - one.deliveries);
    return {
      deliveries: sorted.reduce((sum, { deliveries }) => sum + deliveries, 0),
      groups: sorted,
      unmatched,
    };
  };

  return {
    declareSinks: (sinks) => access.owe((tx) => declareSinks(tx, sinks, holder)),
    declareSources: (sources) => access.write((tx) => declareSources(tx, sources, holder)),
    lastDeclaration: () => access.ask(lastDeclaration),
    backfill: (sink) => access.owe((tx) => backfill(tx, sink)),
    pause: (sink, reason) => access.write((tx) => pause(tx, sink, reason)),
    resume: async (sink) => {
      for (;;) {
        const done = await access.write((tx) => resume(tx, sink));
        if (done !== false) return done ?? false;
      }
    },
    clockAt: () => access.read(clockAt),
    // What the clock of a machine does means nothing here, but that machine may be the server's.
    clockWentBack: () => serverClock.follow(),
    forget: async (sink) => {
      if ((await access.ask((tx) => forgettable(tx, sink))) === undefined) return undefined;
      let skipped = 0;
      for (;;) {
        const some = await access.owe((tx) => forgetChunk(tx, sink));
        skipped += some;
        if (some === 0 && !(await access.read((tx) => forgettable(tx, sink)))) return skipped;
      }
    },
    forgettable: (sink) => access.ask((tx) => forgettable(tx, sink)),
    retry: (filter) =>
      change(filter, filter.states ?? ['dead', 'pending'], (tx, numbers) =>
        retry(tx, numbers, bringsBack(filter)),
      ),
    retriable: (filter) => count(filter, filter.states ?? ['dead', 'pending'], retriable),
    discard: (filter, note) =>
      change({ ...filter, states: ['dead'] }, ['dead'], (tx, numbers) => discard(tx, numbers, note)),
    discardable: (filter) => count({ ...filter, states: ['dead'] }, ['dead'], discardable),
    replay: async (sink, leads) => {
      const { found, owe } = await access.find((tx) => findChosen(tx, sink, leads));
      const replay = await owe((tx) => ask(tx, sink, leads, found?.versions));
      return replay === undefined ? 0 : finishReplay(replay);
    },
    replayable: async (sink, leads) => {
      const found = await access.ask((tx) => findChosen(tx, sink, leads));
      let totals: ReplayTotals = { leads: 0, sources: [], sample: [], unmatched: found?.unmatched ?? [] };
      for (let after: number | undefined = 0; after !== undefined; ) {
        const from: number = after;
        const part = await access.ask((tx) =>
          countStep(tx, sink, leads, { found: found?.versions, after: from }),
        );
        totals = addTotals(totals, part);
        after = part.next;
      }
      return totals;
    },
    cancelReplays: async (sink) => {
      if (!(await access.owe((tx) => stop(tx, sink)))) return undefined;
      return inSteps((after) => access.owe((tx) => cancel(tx, sink, after)));
    },
    cancellable: async (sink) => {
      if (!(await access.ask((tx) => findSink(tx, sink)))) return undefined;
      return inSteps((after) => access.ask((tx) => countCancellable(tx, sink, after)));
    },
    finishReplays: async () => {
      let owed = 0;
      for (const replay of await access.ask(abandoned)) owed += await finishReplay(replay);
      return owed;
    },
    computeClientKeys: async (secret) => {
      const next = await access.ask((tx) => nextKeys(tx, secret));
      if (next?.kind === 'remove') return access.owe((tx) => removeKeys(tx, secret));
      const last = next?.versions.at(-1);
      if (secret === undefined || !next || !last) return true;
      const keys = keysOf(secret, next.versions);
      await access.owe((tx) => storeKeys(tx, secret, { through: next.through, to: last.no }, keys));
      return false;
    },
    removeOld: async (kind, before, after) => {
      const { found, owe } = await access.find((tx) => findOld(tx, kind, before, after));
      const { rows, next } = found;
      const removed = rows.length > 0 ? await owe((tx) => removeOld(tx, kind, rows)) : 0;
      return { removed, next };
    },
  } satisfies Partial<LedgerControl>;
}

async function inSteps(makeStep: (after: number) => Promise<CancelStep>): Promise<ReplayCancellation> {
  let totals: ReplayCancellation = { cancelled: 0, attempted: 0, needed: 0 };
  for (let after: number | undefined = 0; after !== undefined; ) {
    const made: CancelStep = await makeStep(after);
    totals = addStep(totals, made);
    after = made.next;
  }
  return totals;
}

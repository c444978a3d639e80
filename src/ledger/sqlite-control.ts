import type Database from 'better-sqlite3';
import type { LeadKey } from '../leads/person.ts';
import type { Clock } from '../platform/time/clock.ts';
import type {
  ActionGroup,
  ActionTotals,
  LeadChoice,
  LedgerControl,
  ReplayCancellation,
} from './contract/ledger-control.ts';
import { Cancelling } from './control/cancelling.ts';
import { Declaring } from './control/declaring.ts';
import { OperatorActions } from './control/operator-actions.ts';
import { Replaying, SAMPLE } from './control/replaying.ts';
import { type SelectedPart, Selecting } from './control/selecting.ts';
import type { LedgerAccess } from './database/ledger-access.ts';
import { runInChunks } from './database/run-in-chunks.ts';
import type { SinkActivity } from './database/sink-activity.ts';
import type { SinkRows } from './database/sink-rows.ts';
import { ClockSetting, type MovePosition } from './delivering/clock-setting.ts';
import type { Owing } from './delivering/owing.ts';
import { ClientKeys } from './privacy/client-keys.ts';
import { Retaining } from './privacy/retaining.ts';
import { addToGroups } from './rules/control/action-groups.ts';
import { addStep } from './rules/control/cancelling.ts';
import { bringsBack } from './rules/control/selecting.ts';
import type { Cursor } from './rules/queries/keyset-page.ts';

interface ControlParts {
  readonly clock: Clock;
  readonly rows: SinkRows;
  readonly activity: SinkActivity;
  readonly owing: Owing;
}

/** Returns the SQLite implementation of `LedgerControl`. */
export function controlOf(
  db: Database.Database,
  access: LedgerAccess,
  { clock, rows, activity, owing }: ControlParts,
) {
  const declaring = new Declaring(db, clock, rows);
  const actions = new OperatorActions(db, clock, rows, activity);
  const clockSetting = new ClockSetting(db, clock, rows);
  const replaying = new Replaying(db, clock, rows, owing);
  const selecting = new Selecting(db);
  const cancelling = new Cancelling(db, clock, rows);
  const clientKeys = new ClientKeys(db, clock);
  const retaining = new Retaining(db);

  const finishReplay = async (replay: number): Promise<number> => {
    let owed = 0;
    await runInChunks(async () => {
      const step = await access.write(() => replaying.step(replay));
      owed = step.owed;
      return step.done;
    });
    return owed;
  };

  /** Selects deliveries and changes them, part by part. Returns how many were changed. */
  const change = async (
    select: (after: Cursor | undefined) => SelectedPart,
    apply: (numbers: readonly number[]) => number,
  ): Promise<number> => {
    let changed = 0;
    let after: Cursor | undefined;
    await runInChunks(async () => {
      const { numbers, next } = await access.read(() => select(after));
      if (numbers.length > 0) changed += await access.write(() => apply(numbers));
      after = next;
      return next === undefined;
    });
    return changed;
  };

  /** Selects deliveries and describes what an action would change, part by part. */
  const count = async (
    select: (after: Cursor | undefined) => SelectedPart,
    describe: (numbers: readonly number[]) => ActionGroup[],
  ): Promise<ActionTotals> => {
    const groups = new Map<string, ActionGroup>();
    const unmatched: string[] = [];
    let after: Cursor | undefined;
    await runInChunks(async () => {
      const part = await access.read(() => {
        const selected = select(after);
        return { ...selected, found: describe(selected.numbers) };
      });
      for (const one of part.found) addToGroups(groups, one);
      unmatched.push(...part.unmatched);
      after = part.next;
      return after === undefined;
    });
    const sorted = [...groups.values()].sort((one, other) => other.deliveries - one.deliveries);
    return {
      deliveries: sorted.reduce((sum, { deliveries }) => sum + deliveries, 0),
      groups: sorted,
      unmatched,
    };
  };

  /** Finds the leads for the ids in a choice, part by part. Returns undefined if the choice has no ids. */
  const find = async (sink: string, leads: LeadChoice) => {
    if (leads.lead === undefined && leads.ids === undefined) return undefined;
    const [versions, unmatched] = [new Set<number>(), [] as string[]];
    let after: number | undefined = 0;
    await runInChunks(async () => {
      const part = await access.read(() => replaying.find(sink, leads, after ?? 0));
      for (const version of part.versions) versions.add(version);
      unmatched.push(...part.unmatched);
      after = part.next;
      return after === undefined;
    });
    return { versions: [...versions], unmatched };
  };

  const inSteps = async (
    step: (after: number) => Promise<ReplayCancellation & { readonly next: number | undefined }>,
  ): Promise<ReplayCancellation> => {
    let totals: ReplayCancellation = { cancelled: 0, attempted: 0, needed: 0 };
    let after: number | undefined = 0;
    await runInChunks(async () => {
      const made = await step(after ?? 0);
      totals = addStep(totals, made);
      after = made.next;
      return after === undefined;
    });
    return totals;
  };

  return {
    declareSinks: (sinks) => access.write(() => rows.declare(sinks, clock.now().getTime())),
    declareSources: (sources) => access.write(() => declaring.sources(sources)),
    lastDeclaration: () => access.read(() => declaring.last()),
    backfill: (sink) => access.write(() => owing.backfill(sink, clock.now().getTime())),
    pause: (sink, reason) => access.write(() => actions.pause(sink, reason)),
    resume: (sink) => access.write(() => actions.resume(sink)),
    clockAt: () => access.read(() => clockSetting.clockAt()),

    clockWentBack: async (byMs) => {
      // The clock measures fractions of a millisecond, but the ledger stores whole ones.
      const by = Math.round(byMs);
      let moved = 0;
      let after: MovePosition | undefined;
      await runInChunks(async () => {
        const part = await access.write(() => clockSetting.moveChunk(by, after));
        moved += part.moved;
        after = part.next;
        return after === undefined;
      });
      moved += await access.write(() => clockSetting.finish(by));
      return moved;
    },

    forget: async (sink) => {
      if (!(await access.read(() => declaring.isOrphan(sink)))) return undefined;
      let skipped = 0;
      await runInChunks(async () => {
        const some = await access.write(() => declaring.forgetChunk(sink));
        skipped += some;
        return some === 0;
      });
      return skipped;
    },
    forgettable: (sink) =>
      access.read(() => (declaring.isOrphan(sink) ? declaring.forgettable(sink) : undefined)),

    retry: (filter) =>
      change(
        (after) => selecting.retry(filter, after),
        (numbers) => actions.retry(numbers, bringsBack(filter)),
      ),
    retriable: (filter) =>
      count(
        (after) => selecting.retry(filter, after),
        (numbers) => actions.retriable(numbers),
      ),
    discard: (filter, note) =>
      change(
        (after) => selecting.dead(filter, after),
        (numbers) => actions.discard(numbers, note),
      ),
    discardable: (filter) =>
      count(
        (after) => selecting.dead(filter, after),
        (numbers) => actions.discardable(numbers),
      ),

    replay: async (sink, leads) => {
      const found = await find(sink, leads);
      const replay = await access.write(() => replaying.ask(sink, leads, found?.versions));
      return replay === undefined ? 0 : finishReplay(replay);
    },

    replayable: async (sink, leads) => {
      const totals = { leads: 0, sources: new Set<string>(), sample: [] as LeadKey[] };
      const found = await find(sink, leads);
      let after: number | undefined = 0;
      await runInChunks(async () => {
        const part = await access.read(() => replaying.count(sink, leads, found?.versions, after ?? 0));
        totals.leads += part.leads;
        for (const source of part.sources) totals.sources.add(source);
        totals.sample.push(...part.sample.slice(0, SAMPLE - totals.sample.length));
        after = part.next;
        return after === undefined;
      });
      return { ...totals, sources: [...totals.sources].sort(), unmatched: found?.unmatched ?? [] };
    },

    cancelReplays: async (sink) => {
      if (!(await access.write(() => cancelling.stop(sink)))) return undefined;
      return inSteps((after) => access.write(() => cancelling.cancel(sink, after)));
    },
    cancellable: async (sink) => {
      if (!(await access.read(() => rows.get(sink)))) return undefined;
      return inSteps((after) => access.read(() => cancelling.count(sink, after)));
    },

    finishReplays: async () => {
      let owed = 0;
      for (const replay of await access.read(() => replaying.abandoned())) owed += await finishReplay(replay);
      return owed;
    },

    computeClientKeys: async (secret) => {
      if (!(await access.read(() => clientKeys.isBehind(secret)))) return true;
      return access.write(() => clientKeys.keySome(secret));
    },

    removeOld: async (kind, before, after) => {
      const { rows, next } = await access.read(() => retaining.find(kind, before, after));
      const removed = rows.length > 0 ? await access.write(() => retaining.remove(kind, rows)) : 0;
      return { removed, next };
    },
  } satisfies LedgerControl;
}

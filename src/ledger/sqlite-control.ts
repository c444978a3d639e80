import type Database from 'better-sqlite3';
import type { Clock } from '../platform/time/clock.ts';
import type { LedgerControl } from './contract/ledger-control.ts';
import type { LedgerAccess } from './database/ledger-access.ts';
import { runInChunks } from './database/run-in-chunks.ts';
import type { SinkRows } from './database/sink-rows.ts';
import { ClockSetting, type MovePosition } from './delivering/clock-setting.ts';
import { Declaring } from './delivering/declaring.ts';
import { OperatorActions } from './delivering/operator-actions.ts';
import type { Owing } from './delivering/owing.ts';
import { Replaying } from './delivering/replaying.ts';
import { ClientKeys } from './privacy/client-keys.ts';
import { Retaining } from './privacy/retaining.ts';
import { FROM_NEWEST, parseCursor } from './queries/keyset-page.ts';

/** Maximum deliveries made due in one transaction. */
const RETRY_CHUNK = 500;

interface ControlParts {
  readonly clock: Clock;
  readonly rows: SinkRows;
  readonly owing: Owing;
}

/** Returns the SQLite implementation of `LedgerControl`. */
export function controlOf(db: Database.Database, access: LedgerAccess, { clock, rows, owing }: ControlParts) {
  const declaring = new Declaring(db, clock, rows);
  const actions = new OperatorActions(db, clock, rows);
  const clockSetting = new ClockSetting(db, clock, rows);
  const replaying = new Replaying(db, clock, rows, owing);
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

    retry: async (filter) => {
      let retried = 0;
      let after = FROM_NEWEST;
      await runInChunks(async () => {
        const part = await access.read(() => actions.retriable(filter, RETRY_CHUNK, after));
        if (part.rows.length > 0) retried += await access.write(() => actions.retry(part.rows));
        after = parseCursor(part.next ?? undefined) ?? FROM_NEWEST;
        return part.next === null;
      });
      return retried;
    },

    replay: async (sink, leads) => {
      const { lead } = leads;
      if (lead !== undefined) return access.write(() => replaying.one(sink, lead, leads));
      const replay = await access.write(() => replaying.ask(sink, leads));
      return replay === undefined ? 0 : finishReplay(replay);
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

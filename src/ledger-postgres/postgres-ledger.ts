import type { BatchRef } from '../leads/delivery.ts';
import type { Judge } from '../leads/judgement.ts';
import type { ClaimResult } from '../ledger/contract/claim.ts';
import type { Ledger } from '../ledger/contract/ledger.ts';
import type { SharedLedger } from '../ledger/contract/machines.ts';
import { BegunAttempts } from '../ledger/delivering/begun-attempts.ts';
import { beginBlock, beginKnown } from '../ledger/recording/begin-blocks.ts';
import type { Clock, Random } from '../platform/time/clock.ts';
import { Stopwatch } from '../platform/time/stopwatch.ts';
import { requireNotMoved } from './database/copy-marks.ts';
import { GroupCommit } from './database/group-commit.ts';
import { isReplaced, migrate, requireCurrentShape } from './database/migrating.ts';
import { Notices } from './database/notices.ts';
import { PostgresAccess, type PostgresPlace } from './database/postgres-access.ts';
import { addUpCounts, removeOldCommits } from './database/upkeep.ts';
import { addUpActivity } from './delivering/activity-upkeep.ts';
import * as beginning from './delivering/beginning.ts';
import { Claiming } from './delivering/claiming.ts';
import { recordClock } from './delivering/clock-setting.ts';
import { askToSettle, type EndedAttempt, numberOf } from './delivering/ended-attempts.ts';
import { firstOf } from './delivering/finding-due.ts';
import { loadBatches } from './delivering/loading.ts';
import { findProbe, type Probe } from './delivering/probing.ts';
import { ServerClock } from './delivering/server-clock.ts';
import * as settling from './delivering/settling.ts';
import { PostgresMachines } from './machines/postgres-machines.ts';
import { controlOf } from './postgres-control.ts';
import { personsOf } from './postgres-persons.ts';
import { vitals } from './queries/alert-queries.ts';
import { feed, feedCursor, recentAttempts } from './queries/change-feed.ts';
import { deliveredLeads, leadsAtSink } from './queries/comparing.ts';
import { databaseStats } from './queries/database-stats.ts';
import { countDue, newestDeliveries } from './queries/delivery-list.ts';
import { findLeads } from './queries/find-leads.ts';
import { trace } from './queries/lead-trace.ts';
import { newestContents } from './queries/newest-contents.ts';
import { polledHours } from './queries/polled-hours.ts';
import { rejected, rejectedText } from './queries/rejected-list.ts';
import { failureReasons, sinkActivity } from './queries/sink-activity-queries.ts';
import { backlog, lastPolls, status } from './queries/status-queries.ts';
import { sentPending, upcoming } from './queries/upcoming.ts';
import { Polls } from './recording/polls.ts';
import { Recording } from './recording/recording.ts';

/** The options of a ledger in PostgreSQL. `judge` decides what an attempt's outcomes mean; `random` draws lease numbers. */
export interface PostgresLedgerOptions extends PostgresPlace {
  /** Measures spans. Times in the ledger are those of the server. */
  readonly clock: Clock;
  readonly random: Random;
  readonly judge: Judge;
  /** Whether to create a missing ledger and upgrade an older one. If false, a missing or older ledger is an error. */
  readonly create: boolean;
  /** The name of this process as lease holder. Undefined if this process attempts no batches. */
  readonly holder?: string | undefined;
  /** Whether a process is known to be dead, so that an upgrade need not wait for its leases to end. Absent: none is known to be. */
  readonly isDead?: ((holder: string) => Promise<boolean>) | undefined;
}

/** How many settled deliveries a begun attempt counts as in a transaction, because it reads a batch. */
const SIZE_OF_BEGIN = 10;

/** The holder of the leases of a process that attempts nothing. */
const NOBODY = 'nobody';

/** Opens the ledger in a schema of a PostgreSQL database. @throws LedgerError */
export async function openPostgresLedger(options: PostgresLedgerOptions): Promise<SharedLedger> {
  const access = await PostgresAccess.open(options);
  try {
    const { create, schema, isDead = async () => false } = options;
    const { id } = await (create ? migrate(access, schema, isDead) : requireCurrentShape(access, schema));
    // A command may still show what the ledger has.
    if (create || options.holder !== undefined)
      await access.prepare((client) => requireNotMoved(client, access.where, schema));
    const { notify, prepareConnection: prepare } = access;
    const place = { ...options, channel: `leadsync_${id}`, prepare, send: notify.bind(access) };
    const notices = await access.guard(() => Notices.open(place, options.clock));
    access.onWrite(() => notices.tell());
    return compose(access, notices, options, id);
  } catch (error) {
    await access.close();
    throw error;
  }
}

function compose(
  access: PostgresAccess,
  notices: Notices,
  options: PostgresLedgerOptions,
  id: string,
): SharedLedger {
  const serverClock = new ServerClock(access, options.clock);
  const delivering = deliveringOf(access, serverClock, options);
  return {
    ...upkeepOf(access, { notices, serverClock }, id),
    ...pollingOf(access, serverClock),
    ...delivering,
    ...controlOf(access, serverClock, options.holder ?? NOBODY),
    ...personsOf(access),
    ...queriesOf(access),
    machines: (leaseMs) => new PostgresMachines(access, notices, options.holder ?? NOBODY, leaseMs),
    close: async () => {
      await delivering.close();
      await notices.close();
      await access.close();
    },
  };
}

function upkeepOf(
  access: PostgresAccess,
  { notices, serverClock }: { readonly notices: Notices; readonly serverClock: ServerClock },
  id: string,
) {
  return {
    id,
    opening: { upgraded: undefined, isCopy: false },
    failing: () => access.failing(),
    repeatedTransactions: () => access.repeated,
    reportDamage: () => undefined,
    inspect: async () => undefined,
    isReplaced: () => isReplaced(access, id),
    changedElsewhere: () => access.guard(() => notices.changedElsewhere()),
    nextWrite: (atMostMs, signal) => notices.nextWrite(atMostMs, signal),
    checkpointLog: async () => {
      // The server writes its log itself; what is left to do is to look at the clock, to add up counts, and to remove what is no longer used.
      await serverClock.inStep(recordClock);
      await serverClock.finish();
      await access.write(addUpCounts);
      await access.write(removeOldCommits);
      await addUpActivity(access);
      return { logBytes: 0, pinnedBytes: 0 };
    },
    releaseMemory: async () => undefined,
    scrub: async () => {
      await access.vacuum(['_versions', '_deliveries', '_attempts', '_rejected_leads', '_client_keys']);
      return 'left-to-server' as const;
    },
    recordProgress: async () => undefined,
    removeUpgradeCopies: async () => undefined,
  } satisfies Partial<Ledger>;
}

function pollingOf(access: PostgresAccess, serverClock: ServerClock) {
  const recording = new Recording(access);
  const polls = new Polls(access, recording, serverClock);
  return {
    listingMark: (source) => polls.listingMark(source),
    lastCompleteAt: (source) => polls.lastCompleteAt(source),
    recordOrigin: (source, origin) => polls.recordOrigin(source, origin),
    forgetOrigin: (source) => polls.forgetOrigin(source),
    startPoll: (source, duty) => polls.start(source, duty),
    beginKnown: async (poll, blocks) => beginKnown(polls.get(poll), blocks),
    unknownElements: async (id, block) => {
      const poll = polls.get(id);
      if (beginBlock(poll, block)) return [];
      const elements = block.elements();
      const unknown = new Set(await recording.unknownIndexes(poll, elements));
      return elements.filter((_, index) => unknown.has(index));
    },
    record: async (id, items, block) => {
      const poll = polls.get(id);
      if (block && beginBlock(poll, block)) return { listed: items.length, new: 0, changed: 0, rejected: 0 };
      return recording.record(poll, items, block !== undefined);
    },
    finishPoll: async (poll, end) => polls.finish(poll, end),
  } satisfies Partial<Ledger>;
}

function deliveringOf(
  access: PostgresAccess,
  serverClock: ServerClock,
  { clock, random, judge, holder = NOBODY }: PostgresLedgerOptions,
) {
  const begun = new BegunAttempts();
  const claiming = new Claiming(clock, random);
  const settlements = new GroupCommit(
    (attempts: readonly EndedAttempt[]) => {
      const asked = askToSettle(attempts);
      return access.write(
        (tx) => {
          const machineTime = clock.now();
          const ended = attempts.map(({ ref, attempt }) => ({
            ref,
            attempt: settling.byLedgerClock(tx, attempt, machineTime),
          }));
          return settling.settle(tx, judge, { ended, asked });
        },
        [asked.batches, asked.pending, asked.sinks],
      );
    },
    ({ attempt }) => attempt.outcomes.length,
  );
  const beginnings = new GroupCommit(
    async (requests: readonly beginning.BeginRequest[]) => {
      // The server begins the leases at an unknown time after this one.
      const sinceLease = new Stopwatch(clock);
      const asked = beginning.askToBegin(requests);
      const loaded = await access.write(
        (tx) => beginning.begin(tx, requests, { holder, asked }),
        [asked.batches, asked.sinks],
      );
      return loaded.map((one) => one && { batch: one.batch, leasedForMs: one.leasedForMs, sinceLease });
    },
    () => SIZE_OF_BEGIN,
  );
  return {
    claim: async (request) => {
      const begins = request.beginForMs !== undefined;
      const tryToClaim = async (probe: Probe | null | undefined) => {
        const sinceClaim = new Stopwatch(clock);
        const asked = claiming.ask(request, begins ? holder : null);
        const done = await serverClock.inStep(async (tx) => {
          const claim = await claiming.claim(tx, request, { holder: begins ? holder : null, probe, asked });
          const numbers = claim?.claimed.refs.map((ref) => numberOf(ref)) ?? [];
          return claim && { ...claim, started: begins ? await loadBatches(tx, numbers, claim.loaded) : [] };
        }, firstOf(asked));
        if (!done) return undefined;
        done.keep();
        begun.keep(done.started, done.claimed.refs, sinceClaim);
        return done.claimed;
      };
      const claimed = await tryToClaim(undefined);
      if (claimed) return claimed;
      const probe = await findProbe((work) => access.read(work), request.sink);
      return (await tryToClaim(probe ?? null)) as ClaimResult;
    },
    begin: async (ref, leaseMs) => {
      // If the lease of a kept batch has expired, the ledger decides whether the attempt may begin.
      return begun.take(ref) ?? beginnings.run({ ref, leaseMs });
    },
    unbegunBatches: (sink) => access.read((tx) => claiming.unbegunBatches(tx, sink)),
    workOf: (sink) => access.read((tx) => claiming.workOf(tx, sink)),
    settle: (ref, attempt) => access.trackRecovery(settlements.run({ ref, attempt })),
    holders: () => access.read(settling.holders),
    release: (ref, mayHaveArrived) => access.write((tx) => settling.release(tx, ref, holder, mayHaveArrived)),
    reclaimLeases: (dead) => access.write((tx) => settling.reclaimLeases(tx, dead)),
    close: async () => {
      await beginnings.ended();
      await settlements.ended();
      // Batches that were begun but not attempted must not count as lost attempts. If this call fails, they count as lost, which does
      // little harm.
      const unused: Pick<BatchRef, 'batch' | 'lease'>[] = begun
        .takeAll()
        .map(({ batch, lease }) => ({ batch: batch.id, lease }));
      if (unused.length > 0)
        await access.write((tx) => beginning.undoBegin(tx, unused)).catch(() => undefined);
    },
  } satisfies Partial<Ledger>;
}

function queriesOf(access: PostgresAccess) {
  return {
    backlog: () => access.ask(backlog),
    status: () => access.ask(status),
    failureReasons: () => access.ask((tx) => failureReasons(tx)),
    sinkActivity: (sink, request) => access.ask((tx) => sinkActivity(tx, sink, request)),
    countDue: (sink, now, most) => access.ask((tx) => countDue(tx, sink, now, most)),
    deliveries: (filter, page) => access.ask((tx) => newestDeliveries(tx, filter, page)),
    trace: (lead, source) => access.ask((tx) => trace(tx, lead, source)),
    findLeads: (search, limit) => access.ask((tx) => findLeads(tx, search, limit)),
    rejected: (search, page) => access.ask((tx) => rejected(tx, search, page)),
    rejectedText: (id) => access.ask((tx) => rejectedText(tx, id)),
    feedCursor: () => access.ask(feedCursor),
    feed: (since, withData) => access.ask((tx) => feed(tx, since, withData)),
    upcoming: (sink, lead, source) => access.ask((tx) => upcoming(tx, sink, lead, source)),
    sentPending: (sink) => access.ask((tx) => sentPending(tx, sink)),
    polledHours: (source, from) => access.ask((tx) => polledHours(tx, source, from)),
    recentAttempts: (limit) => access.ask((tx) => recentAttempts(tx, limit)),
    lastPolls: (limit) => access.ask((tx) => lastPolls(tx, limit)),
    databaseStats: () => access.ask(databaseStats),
    leadsAtSink: (sink, leads) => access.ask((tx) => leadsAtSink(tx, sink, leads)),
    deliveredLeads: (sink, except, after, limit) =>
      access.ask((tx) => deliveredLeads(tx, sink, except, { after, limit })),
    newestContents: (limit) => access.ask((tx) => newestContents(tx, limit)),
    vitals: (recent) => access.ask((tx) => vitals(tx, recent)),
  } satisfies Partial<Ledger>;
}

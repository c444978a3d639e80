import type Database from 'better-sqlite3';
import type { LedgerQueries } from './contract/ledger-queries.ts';
import type { LedgerHistory } from './contract/mirrored-ledger.ts';
import type { LedgerAccess } from './database/ledger-access.ts';
import type { SinkRows } from './database/sink-rows.ts';
import { AlertQueries } from './queries/alert-queries.ts';
import { ChangeFeed } from './queries/change-feed.ts';
import { Comparing } from './queries/comparing.ts';
import { databaseStats } from './queries/database-stats.ts';
import { DeliveryList } from './queries/delivery-list.ts';
import { FindLeads } from './queries/find-leads.ts';
import { LeadTrace } from './queries/lead-trace.ts';
import { MirrorQueries } from './queries/mirror-queries.ts';
import { newestContents } from './queries/newest-contents.ts';
import { RejectedList } from './queries/rejected-list.ts';
import { SinkActivityQueries } from './queries/sink-activity-queries.ts';
import { lastPolls, StatusQueries } from './queries/status-queries.ts';
import { UpcomingDeliveries } from './queries/upcoming.ts';

/** Returns the SQLite implementation of `LedgerQueries` and `LedgerHistory`. */
export function queriesOf(db: Database.Database, access: LedgerAccess, rows: SinkRows) {
  const status = new StatusQueries(db, rows);
  const activity = new SinkActivityQueries(db, rows);
  const deliveries = new DeliveryList(db);
  const traces = new LeadTrace(db, rows, deliveries);
  const finding = new FindLeads(db);
  const rejected = new RejectedList(db);
  const vitals = new AlertQueries(db, status);
  const upcoming = new UpcomingDeliveries(db);
  const changes = new ChangeFeed(db);
  const mirrored = new MirrorQueries(db);
  const comparing = new Comparing(db);
  return {
    backlog: () => access.read(() => status.backlog()),
    status: () => access.read(() => status.status()),
    sinkActivity: (sink, request) => access.read(() => activity.of(sink, request)),
    failureReasons: () => access.read(() => activity.failureReasons()),
    countDue: (sink, now, most) => access.read(() => deliveries.countDue(sink, now, most)),
    deliveries: (filter, page) => access.read(() => deliveries.newest(filter, page)),
    trace: (lead, source) => access.read(() => traces.of(lead, source)),
    findLeads: (search, limit) => access.read(() => finding.find(search, limit)),
    rejected: (search, { limit, before }) => access.read(() => rejected.newest(search, limit, before)),
    rejectedText: (id) => access.read(() => rejected.text(id)),
    vitals: (recent) => access.read(() => vitals.all(recent)),
    polledHours: (source, from) => access.read(() => vitals.polledHours(source, from)),
    upcoming: (sink, lead, source) => access.read(() => upcoming.of(sink, lead, source)),
    newestContents: (limit) => access.read(() => newestContents(db, limit)),
    sentPending: (sink) => access.read(() => upcoming.sentPending(sink)),
    feedCursor: () => access.read(() => changes.now()),
    feed: (since, withData) => access.read(() => changes.since(since, withData)),
    recentAttempts: (limit) => access.read(() => changes.recentAttempts(limit)),
    lastPolls: (limit) => access.read(() => lastPolls(db, limit)),
    databaseStats: () => access.read(() => databaseStats(db)),
    historyAfter: (table, no, limit) => access.read(() => mirrored.after(table, no, limit)),
    historyNow: (table, numbers) => access.read(() => mirrored.now(table, numbers)),
    broughtBack: (after, since, limit) => access.read(() => mirrored.broughtBack(after, since, limit)),
    overview: () => access.read(() => mirrored.overview()),
    leadsAtSink: (sink, leads) => access.read(() => comparing.states(sink, leads)),
    deliveredLeads: (sink, except, after, limit) =>
      access.read(() => comparing.delivered(sink, except, after, limit)),
  } satisfies LedgerQueries & LedgerHistory;
}

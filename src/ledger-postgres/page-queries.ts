import type { LedgerPages } from '../ledger/contract/ledger-pages.ts';
import { cursorOf, orderOf } from '../ledger/rules/queries/keyset-page.ts';
import type { Transaction } from './database/transaction.ts';
import { countDeliveries, countDue, deliveriesPage } from './queries/delivery-list.ts';
import { findLeads } from './queries/find-leads.ts';
import { leadContent, leadHistory } from './queries/lead-history.ts';
import { countLeads, leadsPage } from './queries/lead-list.ts';
import { newLeads, services } from './queries/lead-statistics.ts';
import { countPolls, pollsPage } from './queries/poll-list.ts';
import { countRejected, rejectedPage, rejectedText } from './queries/rejected-list.ts';
import { attemptTotals, failureReasons, sinkActivity } from './queries/sink-activity-queries.ts';
import { speeds } from './queries/speed.ts';
import { status } from './queries/status-queries.ts';
import { upcoming } from './queries/upcoming.ts';

/** The queries of the pages and the API, each in the transaction that it is given. */
type PageQueries = {
  readonly [Name in keyof LedgerPages]: (
    tx: Transaction,
    ...args: Parameters<LedgerPages[Name]>
  ) => Promise<ReturnType<LedgerPages[Name]>>;
};

/** The queries of the pages and the API on a ledger in PostgreSQL. */
export const pageQueries: PageQueries = {
  status,
  sinkActivity,
  attemptTotals,
  failureReasons,
  newLeads,
  speed: speeds,
  leads: (tx, search, page) => leadsPage(tx, search, page.limit, cursorOf(page), orderOf(page)),
  countLeads,
  services,
  findLeads,
  lead: leadHistory,
  content: (tx, source, lead, version, delivery) => leadContent(tx, source, lead, { version, delivery }),
  upcoming: async (tx, sink, source, lead) => (await upcoming(tx, sink, lead, source))[0],
  deliveries: (tx, filter, page) => deliveriesPage(tx, filter, page.limit, cursorOf(page), orderOf(page)),
  countDeliveries,
  countDue,
  polls: (tx, search, page) => pollsPage(tx, search, page.limit, cursorOf(page), orderOf(page)),
  countPolls,
  rejected: (tx, search, page) => rejectedPage(tx, search, page.limit, cursorOf(page), orderOf(page)),
  countRejected,
  rejectedText,
};

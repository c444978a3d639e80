import { onTestFinished } from 'vitest';
import type { PageReader } from '../../src/ledger/contract/ledger-pages.ts';
import { LedgerUnderTest, type OpenLedger } from './ledger-under-test.ts';

/** An empty store for one test: opens ledgers on it, and readers for the pages. */
export interface PagedStore {
  readonly open: OpenLedger;
  readonly openReader: () => PageReader | Promise<PageReader>;
}

/** Opens a ledger on a new store, which declares the given sinks or `crm`, and a reader for its pages, which is closed with the running test. */
export async function opened(store: () => PagedStore, ...sinks: string[]) {
  const { open, openReader } = store();
  const on = await LedgerUnderTest.with(open, ...(sinks.length > 0 ? sinks : ['crm']));
  const queries = await openReader();
  onTestFinished(() => queries.close());
  return { on, queries };
}

/** Returns every row of a list, page by page. */
export async function all<Row>(
  ask: (after: string | undefined) => Promise<{ rows: readonly Row[]; next: string | null }>,
) {
  const rows: Row[] = [];
  let next: string | null | undefined;
  do {
    const page = await ask(next ?? undefined);
    rows.push(...page.rows);
    next = page.next;
  } while (next !== null);
  return rows;
}

import { describe, expect, it } from 'vitest';
import { queries } from '../../src/catalog/catalog.ts';
import { pasted, type Query } from '../../src/catalog/query.ts';
import { LedgerUnderTest } from '../ledger/ledger-under-test.ts';
import { SqliteFile } from '../ledger/sqlite-store.ts';

describe('the documented query @missing', () => {
  it('looks up the deliveries of a lead by the lead, although SQLite knows nothing of how many a sink has', async () => {
    const disk = new SqliteFile();
    await LedgerUnderTest.with(disk.open, 'crm');
    const query = queries.find(({ name }) => name === 'missing') as Query;
    const steps = disk.other((db) =>
      db.prepare<[], { detail: string }>(`EXPLAIN QUERY PLAN ${pasted(query, 'sqlite')}`).all(),
    );
    const ofDeliveries = steps
      .map(({ detail }) => detail)
      .filter((detail) => /^(SEARCH|SCAN) d /.test(detail));
    expect(ofDeliveries).toEqual([
      'SEARCH d USING INDEX _deliveries_by_version (version_no=?)',
      'SEARCH d USING INDEX _deliveries_by_version (version_no=?)',
    ]);
  });
});

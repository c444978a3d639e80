import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PageQueries } from '../../src/ledger/queries/page-queries.ts';
import { makeBigLedger } from '../proofs/big-ledger.ts';

const LEADS = 20_000;
const MOST = 1_000_000;

let folder: string;
let db: Database.Database;
let pages: PageQueries;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'leadsync-test-'));
  const file = join(folder, 'ledger.db');
  await makeBigLedger(file, LEADS);
  db = new Database(file, { readonly: true });
  pages = new PageQueries(db);
});

afterAll(() => {
  db.close();
  rmSync(folder, { recursive: true, force: true });
});

describe('counts in a large ledger', () => {
  it('a count by a condition that no index has stops after the newest deliveries, and says so', () => {
    const since = { deliveredSince: new Date(0) };
    const most = 50_000;
    const all = pages.countDeliveries(since, MOST);
    expect(all.isAtLeast).toBe(true);
    expect(all.count).toBeLessThan(most);
    expect(all.count).toBeGreaterThan(most / 2);
    const exact = pages.countDeliveries({ sink: 'crm', states: ['delivered'] }, MOST);
    expect(pages.countDeliveries({ sink: 'crm', ...since }, MOST)).toEqual(exact);
    expect(exact.isAtLeast).toBe(false);
    expect(pages.countDeliveries({ states: ['dead'], reason: 'no such' }, MOST)).toEqual({
      count: 0,
      isAtLeast: false,
    });
  });

  it('the leads of a service are counted as the list shows them', () => {
    for (const search of [
      { service: 'service-3' },
      { service: 'service-3', since: new Date(Date.now() - 86_400_000) },
    ]) {
      const { rows, next } = pages.leads(search, { limit: MOST });
      expect(rows.length).toBeGreaterThan(10);
      expect(pages.countLeads(search, MOST)).toEqual({ count: rows.length, isAtLeast: next !== null });
    }
    expect(pages.countLeads({ service: 'service-3', source: 'other' }, MOST).count).toBe(0);
  });

  it('polls are counted by their status, and by a result that depends on the listing among the newest', () => {
    expect(pages.countPolls({}, 10_000)).toEqual({ count: 10_000, isAtLeast: true });
    expect(pages.countPolls({ result: 'failed' }, 10_000)).toEqual({ count: 40, isAtLeast: false });
    expect(pages.countPolls({ result: 'unchanged' }, 10_000)).toEqual({ count: 5_000, isAtLeast: true });
    expect(pages.countPolls({ result: 'unchanged' }, 10)).toEqual({ count: 10, isAtLeast: true });
    expect(pages.countPolls({ source: 'other' }, 10)).toEqual({ count: 0, isAtLeast: false });
  });

  it('rejected leads are counted by fault', () => {
    const fault = (reason: string, leads: number) => ({
      source: 'main',
      path: 'service_slug',
      reason,
      leads,
    });
    const faults = [fault('is no text', 3_333), fault('is missing', 1_667)];
    expect(pages.countRejected({ state: 'open' }, 10_000)).toEqual({
      count: 5_000,
      isAtLeast: false,
      faults,
    });
    expect(pages.countRejected({ source: 'main' }, 10).isAtLeast).toBe(true);
    expect(pages.countRejected({ source: 'other' }, 10)).toEqual({ count: 0, isAtLeast: false, faults: [] });
  });
});

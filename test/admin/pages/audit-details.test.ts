import { expect, onTestFinished, test } from 'vitest';
import type { AuditRow } from '../../../src/admin/contract/audit.ts';
import { openPages } from './open-pages.ts';

test.each<[string, AuditRow['details'], string]>([
  ['reveal', { rejected: '12', source: 'north', lead: '7001' }, 'text of rejected lead 7001 of north'],
  ['reveal', { rejected: '12' }, 'text of the rejected element 12'],
  ['reveal', { source: 'main', lead: '42', version: 2 }, 'lead 42 of main, version 2'],
  ['reveal', { source: 'main', lead: '42', as: 'previews' }, 'lead 42 of main, as each sink gets it'],
  ['reveal', { as: 'tail' }, 'in tail'],
  ['find', { source: 'main' }, 'source main'],
  ['retry', {}, 'all deliveries that can be retried'],
  ['discard', { note: 'rung' }, 'all dead deliveries, note: rung'],
  ['retry', { ids: 3 }, '3 selected deliveries'],
  ['retry', { sink: 'crm', states: 'dead, pending' }, 'dead and pending deliveries, sink crm'],
  ['discard', { sink: 'crm', state: 'dead', note: 'rung' }, 'dead deliveries, sink crm, note: rung'],
  ['discard', { ids: 1, note: '`x`' }, '1 selected delivery, note: `x`'],
  ['replay', { sink: 'crm', ids: 2 }, '2 selected leads, sink crm'],
  ['replay', { sink: 'crm', since: '2026-11-01T00:00:00.000Z' }, 'sink crm, since 1 Nov 2026, 00:00:00 UTC'],
  ['retry', { id: 'crm:main:42:1:0a1b2c3d' }, 'delivery crm:main:42:1:0a1b2c3d'],
  ['retry', { delivery: 'crm:main:42:1:0a1b2c3d' }, 'delivery crm:main:42:1:0a1b2c3d'],
  ['export-subject', { leads: 1, rejected: 0 }, 'data of 1 lead and 0 rejected leads'],
  ['erase', { leads: 'main 1' }, 'leads: main 1'],
  ['reload', { role: 'admin' }, ''],
])('the audit page says what %s was done to: %j', async (what, details, words) => {
  const pages = await openPages();
  onTestFinished(() => pages.close());
  const at = '2026-11-21T14:31:00.000Z';
  pages.operations.auditRows = [{ id: '7.0', at, who: 'anna', via: 'cli', what, address: null, details }];
  const html = await (await fetch(`${pages.url}/audit`)).text();
  const [, cell = 'none'] = /data-label="Details"><div>(.*?)<\/div>/s.exec(html) ?? [];
  expect(cell.replace(/<[^>]+>/g, '')).toBe(words);
});

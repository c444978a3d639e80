import { describe, expect, test } from 'vitest';
import { loadConfig } from '../../../src/config/load-config.ts';
import { describePlan } from '../../../src/operations/planning/describe-plan.ts';
import { planOf } from '../../../src/operations/planning/plan.ts';
import { sinkTypes } from '../../../src/sinks/registry.ts';
import { Install } from '../../cli/an-install.ts';

const crm = { pending: 0, dead: 0, missed: 0, config: undefined };
const main = { name: 'main', leads: 200, config: undefined, origin: undefined };

function plannedFor(formerly: string, last: Record<string, boolean>): string {
  const drop = { type: 'csv', directory: './drop' };
  const install = new Install({ sinks: { customers: { ...drop, formerly } } });
  const sinks = Object.entries(last).map(([name, active]) => ({ ...crm, name, active, nameInIds: name }));
  const config = loadConfig(install.configFile, { sinkTypes, env: {} });
  return describePlan(planOf({ sources: [main], sinks, exports: [] }, config)).join('\n');
}

test('the plan reports a former name that no sink had if a sink is removed in the same change', () => {
  const owed = 'sink customers is new: 200 leads listed before are owed to it';
  expect(plannedFor('crmm', { crm: true })).toContain(
    `${owed}. It is not a rename, since no sink named crmm (\`formerly\`) is known: did you mean "crm"?\n`,
  );
  expect(plannedFor('billing', { crm: true, erp: true })).toContain(
    `${owed}. It is not a rename, since no sink named billing (\`formerly\`) is known: the change removes crm, erp\n`,
  );
  expect(plannedFor('crm', { crm: true })).not.toContain('is new');
  // A first start, and a rename that is long over.
  expect(plannedFor('crmm', {})).toContain(`${owed}`);
  expect(plannedFor('crmm', {})).not.toContain('formerly');
  expect(plannedFor('crmm', { customers: true })).not.toContain('formerly');
});

test('the plan rejects a rename to the name of another sink, whether that one was removed before or in the same change', () => {
  const refused =
    'sink crm cannot be renamed to customers: the ledger knows another sink customers. leadsync refuses this configuration; choose another new name, or keep crm';
  for (const last of [
    { crm: true, customers: false },
    { crm: true, customers: true },
    { crm: false, customers: false },
  ])
    expect(plannedFor('crm', last)).toMatch(new RegExp(`^source main .*\n${refused}$`));
  expect(plannedFor('crm', { crm: false, customers: true })).not.toContain('renamed');
});

test.each([
  [{}, 'it is owed nothing'],
  [{ dead: 224 }, 'nothing is pending, and 224 dead deliveries stay'],
  [
    { pending: 2, dead: 1 },
    '2 pending deliveries kept until it is back; `leadsync forget crm` skips them; 1 dead delivery stays',
  ],
])('a removed sink with %j keeps its deliveries', (counts, kept) => {
  const install = new Install({ sinks: {} });
  const config = loadConfig(install.configFile, { sinkTypes, env: {} });
  const sinks = [{ ...crm, ...counts, name: 'crm', active: true, nameInIds: 'crm' }];
  const lines = describePlan(planOf({ sources: [main], sinks, exports: [] }, config));
  expect(lines).toContain(`sink crm is gone: ${kept}`);
});

describe('the share of a destination’s daily limit that a backfill takes', () => {
  const pipedrive = { type: 'pipedrive', domain: 'https://example.pipedrive.com', token: 'secret' };
  const hubspot = { type: 'hubspot', token: 'secret' };
  const salesforce = {
    type: 'salesforce',
    domain: 'https://example.my.salesforce.com',
    client_id: 'id',
    client_secret: 'secret',
  };
  const many = { ...main, leads: 12_000 };
  const gone = { ...crm, name: 'crm', nameInIds: 'crm', active: false, missed: 12_000 };
  const quota = (unit: string, limit: number) => ({ unit, used: 5_000, limit, readAt: new Date(0) });

  function plan(sink: object, sinks: Parameters<typeof planOf>[0]['sinks'] = []) {
    const install = new Install({ sinks: { crm: sink } });
    const config = loadConfig(install.configFile, { sinkTypes, env: {} });
    return planOf({ sources: [many], sinks, exports: [] }, config);
  }
  const said = (...args: Parameters<typeof plan>) => describePlan(plan(...args)).at(-1);

  test.each([
    [
      'the options state the limit',
      { ...pipedrive, daily_tokens: 60_000 },
      [],
      '540,000 tokens: 9 days at 60,000 a day, if nothing else uses them',
    ],
    [
      'an earlier answer states the limit',
      pipedrive,
      [{ ...gone, quota: quota('tokens', 30_000) }],
      '540,000 tokens: 18 days at 30,000 a day, if nothing else uses them',
    ],
    [
      'nothing states the limit',
      { ...pipedrive, note: false },
      [],
      '420,000 tokens (`leadsync check` shows how many the destination allows a day)',
    ],
    [
      'the limit was that of another type',
      pipedrive,
      [{ ...gone, quota: quota('API requests', 9) }],
      '540,000 tokens (`leadsync check` shows how many the destination allows a day)',
    ],
    [
      'less than a day',
      hubspot,
      [{ ...gone, quota: quota('API requests', 250_000) }],
      '600 of the 250,000 API requests a day',
    ],
    [
      'small batches cost more',
      { ...hubspot, batch: { max: 10 } },
      [],
      '6,000 API requests (`leadsync check` shows how many the destination allows a day)',
    ],
    [
      'Salesforce',
      salesforce,
      [{ ...gone, quota: quota('API requests', 100) }],
      '120 API requests: 2 days at 100 a day, if nothing else uses them',
    ],
  ])('%s', (_, sink, sinks, cost) => {
    expect(said(sink, sinks)).toMatch(
      /^sink crm is (new: 12,000 leads listed before|back: 12,000 leads listed in the meantime) are owed to it, which cost about /,
    );
    expect(said(sink, sinks)).toContain(`which cost about ${cost}`);
  });

  test('is an upper limit if `where` may leave leads out', () => {
    expect(said({ ...hubspot, where: 'lead.service_slug == "cleaning"' })).toContain(
      'cost at most about 600 ',
    );
  });

  test('is missing for a sink without a backfill or without a daily limit', () => {
    expect(said({ ...pipedrive, backfill: false })).toMatch(/are skipped \(backfill: false\)$/);
    expect(said({ ...pipedrive, events: ['updated'] })).toMatch(/no leads listed before$/);
    expect(said({ type: 'csv', directory: './drop' })).toMatch(/are owed to it$/);
  });

  test('is in the plan as JSON', () => {
    expect(plan({ ...pipedrive, daily_tokens: 60_000 }).sinks).toEqual([
      {
        kind: 'added',
        name: 'crm',
        leads: 12_000,
        backfill: true,
        cost: { unit: 'tokens', amount: 540_000, at_most: false, daily_limit: 60_000 },
      },
    ]);
  });
});

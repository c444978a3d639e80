import { expect, test } from 'vitest';
import { loadConfig } from '../../src/config/load-config.ts';
import { describePlan } from '../../src/operations/describe-plan.ts';
import { planOf } from '../../src/operations/plan.ts';
import { sinkTypes } from '../../src/sinks/registry.ts';
import { Install } from '../cli/an-install.ts';

const crm = { pending: 0, missed: 0, config: undefined };
const main = { name: 'main', leads: 200, config: undefined, origin: undefined };

function plannedFor(formerly: string, last: Record<string, boolean>): string {
  const drop = { type: 'csv', directory: './drop' };
  const install = new Install({ sinks: { customers: { ...drop, formerly } } });
  const sinks = Object.entries(last).map(([name, active]) => ({ ...crm, name, active, nameInIds: name }));
  const config = loadConfig(install.configFile, { sinkTypes, env: {} });
  return describePlan(planOf({ sources: [main], sinks, exports: [] }, config)).join('\n');
}

test('a former name that no sink had is told when a sink leaves in the same change', () => {
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

test('a rename to the name of another sink is refused, whether that one is removed or in the same change', () => {
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

import { describe, expect, onTestFinished, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { parseConfig } from '../../../src/config/load-config.ts';
import { columnsOfDefinition } from '../../../src/mapping/map-delivery.ts';
import { openSink } from '../../../src/operations/opening/open-sinks.ts';
import { systemClock } from '../../../src/platform/time/clock.ts';
import { sinkTypes } from '../../../src/sinks/registry.ts';
import { type SalesforceStub, startSalesforceStub } from '../../stub/salesforce/salesforce-stub.ts';
import { followPage, readPage } from '../documented-page.ts';

const NEVER = new AbortController().signal;
const page = readPage('salesforce.md');
const { recipes } = page;
const sources = { main: { base_url: 'https://leads.example.com', client_id: 'id', client_secret: 's' } };

const environmentOf = ({
  url,
  clientId,
  clientSecret,
}: Pick<SalesforceStub, 'url' | 'clientId' | 'clientSecret'>) => ({
  SALESFORCE_DOMAIN: url,
  SALESFORCE_CLIENT_ID: clientId,
  SALESFORCE_CLIENT_SECRET: clientSecret,
});

function configOf(text: string, env: Readonly<Record<string, string>>) {
  return parseConfig(`${stringify({ sources })}${text}`, 'f', { sinkTypes, env });
}

async function anEmptyOrg(): Promise<SalesforceStub> {
  const stub = await startSalesforceStub({ keyField: 'absent' });
  onTestFinished(() => stub.close());
  return stub;
}

describe('docs/salesforce.md', () => {
  test('begins with a configuration that is valid', async () => {
    const org = { url: 'https://example.my.salesforce.com', clientId: 'id', clientSecret: 'secret' };
    const config = configOf(page.configuration.join(''), environmentOf(org));
    expect(config.sinks.map(({ name, type }) => [name, type.type])).toEqual([['crm', 'salesforce']]);
    expect(config.publicUrl).toBe('https://leadsync.example.com');
  });

  test('leads from an empty org to the first lead and its link, by its own commands', async () => {
    const org = await anEmptyOrg();
    const leads = () => org.records['Lead'] ?? [];
    await followPage(page, {
      env: environmentOf(org),
      keys: () => leads().map(({ Leadsync_Key__c: key }) => key as string),
      link: () => `${org.url}/${leads()[0]?.Id}`,
    });
    expect(leads()).toMatchObject([{ LastName: 'Citizen' }]);
  });

  test('has six recipes, four of them with tests', () => {
    expect(recipes).toHaveLength(6);
    expect(recipes.filter(({ text }) => 'tests' in (parse(text) as object))).toHaveLength(4);
  });

  test.each(recipes.map(({ heading, text }) => [heading, text] as const))(
    '%s: valid, its tests pass, and an org that is set up takes it',
    async (_, text) => {
      const org = await anEmptyOrg();
      const config = configOf(`sinks:\n  crm:\n${text.replace(/^(?=.)/gm, '    ')}`, environmentOf(org));
      const [configured] = config.sinks;
      if (!configured) throw new Error('there is no sink');
      const columns = columnsOfDefinition(configured.mapping, undefined) ?? [];
      const sink = await openSink(configured, systemClock);
      onTestFinished(() => sink.close());
      for (const { make } of (await sink.missingParts?.(NEVER, columns)) ?? []) await make(NEVER);
      await sink.check(NEVER, columns);
    },
  );
});

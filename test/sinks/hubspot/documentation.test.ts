import { describe, expect, onTestFinished, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { parseConfig } from '../../../src/config/load-config.ts';
import { columnsOfDefinition } from '../../../src/mapping/map-delivery.ts';
import { openSink } from '../../../src/operations/opening/open-sinks.ts';
import { systemClock } from '../../../src/platform/time/clock.ts';
import { sinkTypes } from '../../../src/sinks/registry.ts';
import { startHubSpotStub } from '../../stub/hubspot/hubspot-stub.ts';
import { followPage, readPage } from '../documented-page.ts';

const NEVER = new AbortController().signal;
const page = readPage('hubspot.md');
const { recipes } = page;
const sources = { main: { base_url: 'https://leads.example.com', client_id: 'id', client_secret: 's' } };

function configOf(text: string, token: string) {
  return parseConfig(`${stringify({ sources })}${text}`, 'f', { sinkTypes, env: { HUBSPOT_TOKEN: token } });
}

describe('docs/hubspot.md', () => {
  test('begins with a configuration that is valid', () => {
    const config = configOf(page.configuration.join(''), 'pat-1');
    expect(config.sinks.map(({ name, type }) => [name, type.type])).toEqual([['crm', 'hubspot']]);
    expect(config.publicUrl).toBe('https://leadsync.example.com');
  });

  test('leads from an empty account to the first lead and its link, by its own commands', async () => {
    const account = await startHubSpotStub();
    onTestFinished(() => account.close());
    await followPage(page, {
      env: { HUBSPOT_TOKEN: account.token },
      options: { api_url: account.url },
      keys: () => account.records.deals.map(({ properties }) => properties['leadsync_key']),
      link: () =>
        `https://app.hubspot.com/contacts/${account.portalId}/record/0-3/${account.records.deals[0]?.id}`,
    });
    expect(account.records.contacts).toMatchObject([{ properties: { lastname: 'Citizen' } }]);
  });

  test('has seven recipes with tests', () => {
    expect(recipes.filter(({ text }) => 'tests' in (parse(text) as object))).toHaveLength(7);
  });

  test.each(recipes.map(({ heading, text }) => [heading, text] as const))(
    '%s: valid, its tests pass, and an account that is set up takes it',
    async (_, text) => {
      const stub = await startHubSpotStub();
      onTestFinished(() => stub.close());
      // What the page says that people create by hand.
      for (const name of ['jobtitle', 'utm_source'])
        stub.addProperty('contacts', {
          name,
          label: name,
          type: 'string',
          fieldType: 'text',
          groupName: 'contactinformation',
        });
      const indented = `${text}api_url: ${stub.url}\n`.replace(/^(?=.)/gm, '    ');
      const config = configOf(`sinks:\n  crm:\n${indented}`, stub.token);
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

import { readFileSync } from 'node:fs';
import { describe, expect, onTestFinished, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { parseConfig } from '../../../src/config/load-config.ts';
import { columnsOfDefinition } from '../../../src/mapping/map-delivery.ts';
import { openSink } from '../../../src/operations/opening/open-sinks.ts';
import { calls, tokensOfLead } from '../../../src/sinks/pipedrive/calls.ts';
import { sinkTypes } from '../../../src/sinks/registry.ts';
import { startPipedriveStub } from '../../stub/pipedrive/pipedrive-stub.ts';
import { routes } from '../../stub/pipedrive/routes.ts';
import { followPage, readPage } from '../documented-page.ts';
import { WaitingClock } from './waiting-clock.ts';

const NEVER = new AbortController().signal;
const page = readPage('pipedrive.md');
const { recipes } = page;
const readme = readFileSync(new URL('../../../src/sinks/pipedrive/README.md', import.meta.url), 'utf8');
const sources = { main: { base_url: 'https://leads.example.com', client_id: 'id', client_secret: 's' } };

function configOf(text: string, token: string) {
  return parseConfig(`${stringify({ sources })}${text}`, 'f', { sinkTypes, env: { PIPEDRIVE_TOKEN: token } });
}

describe('docs/pipedrive.md', () => {
  test('begins with a configuration that is valid', () => {
    const config = configOf(page.configuration.join(''), 'token');
    expect(config.sinks.map(({ name, type }) => [name, type.type])).toEqual([['crm', 'pipedrive']]);
    expect(config.publicUrl).toBe('https://leadsync.example.com');
  });

  test('leads from an empty company to the first lead and its link, by its own commands', async () => {
    const company = await startPipedriveStub();
    onTestFinished(() => company.close());
    await followPage(page, {
      env: { PIPEDRIVE_TOKEN: company.token },
      options: { domain: company.url },
      keys: () => company.records.leads.map(({ origin_id: key }) => key),
      link: () => `${company.url}/leads/inbox/${company.records.leads[0]?.id}`,
    });
    const persons = company.records.persons.filter(({ is_deleted }) => !is_deleted);
    expect(persons).toMatchObject([{ name: 'Jane Citizen' }]);
  });

  test('has six recipes with tests', () => {
    expect(recipes.filter(({ text }) => 'tests' in (parse(text) as object))).toHaveLength(6);
  });

  test.each(recipes.map(({ heading, text }) => [heading, text] as const))(
    '%s: valid, its tests pass, and a company that is set up takes it',
    async (_, text) => {
      const stub = await startPipedriveStub();
      onTestFinished(() => stub.close());
      // What the page says that people create by hand.
      const options = [{ label: 'Private' }, { label: 'Company' }];
      stub.addField('deal', { field_name: 'Kind of client', field_type: 'enum', options });
      const here = text.replace('https://example.pipedrive.com', stub.url);
      const config = configOf(`sinks:\n  crm:\n${here.replace(/^(?=.)/gm, '    ')}`, stub.token);
      const [configured] = config.sinks;
      if (!configured) throw new Error('there is no sink');
      const columns = columnsOfDefinition(configured.mapping, undefined) ?? [];
      const sink = await openSink(configured, new WaitingClock());
      onTestFinished(() => sink.close());
      for (const { make } of (await sink.missingParts?.(NEVER, columns)) ?? []) await make(NEVER);
      await sink.check(NEVER, columns);
    },
  );
});

describe('the tokens', () => {
  test('that the sink counts for a request are those of the vendor', () => {
    for (const { method, path, tokens } of Object.values(calls)) {
      const name = `${method} ${path.replace(/^\/api\/v\d/, '')}`;
      expect([name, tokens]).toEqual([name, routes[name as keyof typeof routes].tokens]);
    }
  });

  test('of the README are those that the sink counts', () => {
    const [lead, deal, none] = (['lead', 'deal', 'none'] as const).map((object) =>
      tokensOfLead(object, true),
    );
    expect(readme).toContain(
      `of a new person, with a note | 20 + 5 + 10 + 10 = ${lead} | ${deal} | ${none} |`,
    );
    const without = (['lead', 'deal', 'none'] as const).map((object) => tokensOfLead(object, false));
    expect(readme).toContain(`\`note: false\` | ${without.join(' | ')} |`);
    for (const text of [readme, page.text])
      expect(text).toContain(`${Math.floor(30_000 / Number(lead))} leads`);
  });
});

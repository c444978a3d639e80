import { readFileSync } from 'node:fs';
import { describe, expect, onTestFinished, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { parseConfig } from '../../../src/config/load-config.ts';
import { columnsOfDefinition } from '../../../src/mapping/map-delivery.ts';
import { openSink } from '../../../src/operations/opening/open-sinks.ts';
import { systemClock } from '../../../src/platform/time/clock.ts';
import { sinkTypes } from '../../../src/sinks/registry.ts';
import { type SalesforceStub, startSalesforceStub } from '../../stub/salesforce/salesforce-stub.ts';
import { startStub } from '../../stub/stub.ts';
import { tempDir } from '../../support/files/temp-dir.ts';
import { runLeadsync, startDaemon, writeConfig } from '../../support/program/leadsync.ts';
import { aLead } from '../../support/scene/a-lead.ts';
import { until } from '../../support/time/until.ts';

const NEVER = new AbortController().signal;
const page = readFileSync(new URL('../../../docs/salesforce.md', import.meta.url), 'utf8');
const blocks = [...page.matchAll(/^ *```(yaml|sh)\n(.*?)```/gms)].map(
  ({ index, 1: language, 2: text = '' }) => ({
    heading: [...page.slice(0, index).matchAll(/^#+ (.*)$/gm)].at(-1)?.[1] ?? '',
    language,
    text,
  }),
);
const yaml = blocks.filter(({ language }) => language === 'yaml');
const recipes = yaml.filter(({ text }) => text.startsWith('type:'));
const configuration = yaml.filter(({ text }) => !text.startsWith('type:'));
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
    const config = configOf(configuration.map(({ text }) => text).join(''), environmentOf(org));
    expect(config.sinks.map(({ name, type }) => [name, type.type])).toEqual([['crm', 'salesforce']]);
    expect(config.publicUrl).toBe('https://leadsync.example.com');
  });

  test('leads from an empty org to the first lead and its link, by its own commands', async () => {
    const org = await anEmptyOrg();
    const service = await startStub();
    service.addRaw(aLead({ id: 1 }));
    onTestFinished(() => service.close());
    const { url: base_url, clientId: client_id, clientSecret: client_secret } = service;
    const [{ text } = { text: '' }] = configuration;
    const main = { base_url, client_id, client_secret, poll: { every: '1s' } };
    const { configFile, adminUrl } = await writeConfig(tempDir(), { sources: { main }, ...parse(text) });
    const env = { ...environmentOf(org), LEADSYNC_CONFIG: configFile };
    const commands = blocks.flatMap(({ language, text: lines }) =>
      language === 'sh' ? lines.split('\n').map((line) => line.replace(/ *#.*/, '').trim()) : [],
    );
    const [run, ...before] = commands.filter((line) => line.startsWith('leadsync ')).toReversed();
    expect(run).toBe('leadsync run');
    for (const command of ['leadsync validate', ...before.toReversed()]) {
      const { code, stdout, stderr } = await runLeadsync(command.split(' ').slice(1), { env });
      expect(code, `${command}\n${stdout}${stderr}`).toBe(0);
    }
    expect(org.records['Lead']).toEqual([]);
    const daemon = await startDaemon(configFile, adminUrl, { env });
    const trace = (lead: string) => runLeadsync(['trace', lead], { env });
    await until('the lead of the past is recorded', async () => (await trace('1')).code === 0);
    service.addRaw(aLead({ id: 4711, client_name: 'Jane Citizen' }));
    await until('the lead is in Salesforce', () => (org.records['Lead'] ?? []).length === 1);
    expect(org.records['Lead']).toMatchObject([{ LastName: 'Citizen', Leadsync_Key__c: 'main:4711' }]);
    const link = `${org.url}/${org.records['Lead']?.[0]?.Id}`;
    await until('trace has the link', async () => (await trace('4711')).stdout.includes(link));
    expect(await daemon.kill()).toEqual({ code: 0, signal: null });
  });

  test('has six recipes, of which four have tests', () => {
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
      const sink = openSink(configured, systemClock);
      onTestFinished(() => sink.close());
      for (const { make } of (await sink.missingParts?.(NEVER, columns)) ?? []) await make(NEVER);
      await sink.check(NEVER, columns);
    },
  );
});

import { readFileSync } from 'node:fs';
import { expect, onTestFinished } from 'vitest';
import { parse } from 'yaml';
import { startStub } from '../stub/stub.ts';
import { tempDir } from '../support/files/temp-dir.ts';
import { runLeadsync, startDaemon, writeConfig } from '../support/program/leadsync.ts';
import { aLead } from '../support/scene/a-lead.ts';
import { until } from '../support/time/until.ts';

/** A page of docs/ that leads to the first lead in a CRM. */
export interface DocumentedPage {
  readonly text: string;
  /** The YAML of the sink and of what belongs to it, in the order of the page. */
  readonly configuration: readonly string[];
  /** Whole entries of sinks, with the headings above them. */
  readonly recipes: readonly { readonly heading: string; readonly text: string }[];
  /** The commands of leadsync, without their comments, in the order of the page. */
  readonly commands: readonly string[];
}

/** Reads a page of docs/. */
export function readPage(name: string): DocumentedPage {
  const text = readFileSync(new URL(`../../docs/${name}`, import.meta.url), 'utf8');
  const blocks = [...text.matchAll(/^ *```(yaml|sh)\n(.*?)```/gms)].map(
    ({ index, 1: language, 2: content = '' }) => ({
      heading: [...text.slice(0, index).matchAll(/^#+ (.*)$/gm)].at(-1)?.[1] ?? '',
      language,
      text: content,
    }),
  );
  const yaml = blocks.filter(({ language }) => language === 'yaml');
  return {
    text,
    configuration: yaml.flatMap((block) => (block.text.startsWith('type:') ? [] : [block.text])),
    recipes: yaml.filter((block) => block.text.startsWith('type:')),
    commands: blocks
      .filter(({ language }) => language === 'sh')
      .flatMap((block) => block.text.split('\n').map((line) => line.replace(/ *#.*/, '').trim()))
      .filter((line) => line.startsWith('leadsync ')),
  };
}

/** An empty CRM, for a page of docs/. */
interface EmptyCrm {
  /** What the page exports. */
  readonly env: Readonly<Record<string, string>>;
  /** Options of the sink that lead to the substitute in place of the vendor. */
  readonly options?: Readonly<Record<string, unknown>>;
  /** Returns the keys of the leads that it has. */
  keys(): readonly (string | null | undefined)[];
  /** Returns the address of the only lead that it has. */
  link(): string;
}

/**
 * Follows a page by its own commands: from an empty CRM and a service that has listed one lead to the next lead, which is in the CRM, and whose
 * address there `trace` shows. Expects that the commands before `leadsync run` succeed and leave no lead behind.
 */
export async function followPage({ configuration, commands }: DocumentedPage, crm: EmptyCrm): Promise<void> {
  const service = await startStub();
  onTestFinished(() => service.close());
  service.addRaw(aLead({ id: 1 }));
  const { url: base_url, clientId: client_id, clientSecret: client_secret } = service;
  const main = { base_url, client_id, client_secret, poll: { every: '1s' } };
  const written = parse(configuration[0] ?? '') as { sinks: { crm: object } };
  const sinks = { crm: { ...written.sinks.crm, ...crm.options } };
  const { configFile, adminUrl } = await writeConfig(tempDir(), { sources: { main }, sinks });
  const env = { ...crm.env, LEADSYNC_CONFIG: configFile };
  expect(commands.at(-1)).toBe('leadsync run');
  for (const command of ['leadsync validate', ...commands.slice(0, -1)]) {
    const { code, stdout, stderr } = await runLeadsync(command.split(' ').slice(1), { env });
    expect(code, `${command}\n${stdout}${stderr}`).toBe(0);
  }
  expect(crm.keys()).toEqual([]);
  const daemon = await startDaemon(configFile, adminUrl, { env });
  const trace = (lead: string) => runLeadsync(['trace', lead], { env });
  await until('the lead of the past is recorded', async () => (await trace('1')).code === 0);
  service.addRaw(aLead({ id: 4711, client_name: 'Jane Citizen' }));
  await until('the lead is in the CRM', () => crm.keys().length === 1);
  expect(crm.keys()).toEqual(['main:4711']);
  await until('trace has the link', async () => (await trace('4711')).stdout.includes(crm.link()));
  expect(await daemon.kill()).toEqual({ code: 0, signal: null });
}

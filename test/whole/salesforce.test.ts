import { expect, onTestFinished, test } from 'vitest';
import { startSalesforceStub } from '../stub/salesforce/salesforce-stub.ts';
import { startStub } from '../stub/stub.ts';
import { tempDir } from '../support/files/temp-dir.ts';
import { runLeadsync, startDaemon, writeConfig } from '../support/program/leadsync.ts';
import { aLead } from '../support/scene/a-lead.ts';
import { carriers } from '../support/scene/scene.ts';
import { requireRedisUrl, uniqueName } from '../support/servers/services.ts';
import { until } from '../support/time/until.ts';

const ROUNDS = 6;
/** New leads of a round. */
const LEADS = 40;
/** Lost answers of the upsert, one kind for each round. */
const LOST = [
  'cut-after-storing',
  'truncated-json-after-storing',
  'proxy-page-after-storing',
  'server-error-after-storing',
  'fewer-results',
  'reversed-results',
] as const;

test.each(carriers)(
  'every lead is one lead in Salesforce, over kills, lost answers and ended sessions (%s)',
  async (carrier) => {
    const [service, org] = await Promise.all([
      startStub({ leads: 0 }),
      startSalesforceStub({ keyField: 'absent' }),
    ]);
    onTestFinished(() => Promise.all([service.close(), org.close()]).then(() => undefined));
    const { configFile, adminUrl } = await writeConfig(tempDir(), {
      admin: { public_url: 'https://leadsync.example.com' },
      sources: {
        main: {
          base_url: service.url,
          client_id: service.clientId,
          client_secret: service.clientSecret,
          poll: { every: '1s' },
        },
      },
      sinks: {
        crm: {
          type: 'salesforce',
          domain: org.url,
          client_id: org.clientId,
          client_secret: org.clientSecret,
          batch: { max: 7 },
          retry: { schedule: Array.from({ length: 50 }, () => '200ms') },
        },
      },
      ...(carrier === 'bullmq'
        ? { queue: { redis_url: requireRedisUrl(), prefix: uniqueName('salesforce') } }
        : {}),
    });
    expect((await runLeadsync(['setup', 'crm', '--yes', '-c', configFile])).code).toBe(0);
    const leads = () => org.records['Lead'] ?? [];
    const names = new Map<string, string>();
    for (let round = 1; round <= ROUNDS; round += 1) {
      for (let n = 0; n < LEADS; n += 1) {
        const id = names.size + 1;
        names.set(`main:${id}`, `Client${id}`);
        // Of every tenth, Salesforce does not take the address.
        const client_email = id % 10 === 0 ? 'a@b.c_d.example' : `client${id}@example.com`;
        service.addRaw(aLead({ id, client_name: `Jane Client${id}`, client_email }));
      }
      // Before the daemon starts, which may deliver every lead while it is waited for.
      const wanted = round === ROUNDS ? names.size : leads().length + 10;
      const daemon = await startDaemon(configFile, adminUrl);
      for (const upsert of LOST) org.misbehave({ upsert, times: 1 });
      org.misbehave({ data: 'cut', times: 1 });
      org.revokeSessions();
      await until(`${wanted} leads are in Salesforce`, () => leads().length >= wanted, 120_000);
      if (round < ROUNDS) await daemon.kill('SIGKILL');
      else {
        await until(
          'everything is delivered',
          async () => (await statusOf(configFile)).pending === 0,
          120_000,
        );
        expect(await daemon.kill('SIGTERM')).toEqual({ code: 0, signal: null });
      }
    }
    const held = leads().map((lead) => [lead['Leadsync_Key__c'], lead['LastName']] as const);
    expect(new Map(held)).toEqual(names);
    expect(held).toHaveLength(names.size);
    for (const lead of leads())
      expect(lead['Leadsync_Url__c']).toBe(
        `https://leadsync.example.com/leads/${String(lead['Leadsync_Key__c']).replace(':', '/')}`,
      );
    expect(await statusOf(configFile)).toMatchObject({ pending: 0, dead: 0 });
    expect(leads().filter(({ Email }) => Email === undefined)).toHaveLength(names.size / 10);
    expect((await runLeadsync(['reconcile', '--sink', 'crm', '-c', configFile])).stdout).toBe(
      `crm: ${names.size} leads delivered, ${names.size} held, 0 missing, 0 foreign.\n`,
    );
  },
);

async function statusOf(configFile: string): Promise<{ readonly pending: number; readonly dead: number }> {
  const { stdout } = await runLeadsync(['status', '--json', '-c', configFile]);
  const { sinks } = JSON.parse(stdout) as { sinks: { pending: number; dead: number }[] };
  return sinks[0] as { pending: number; dead: number };
}

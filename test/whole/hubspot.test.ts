import { expect, onTestFinished, test } from 'vitest';
import { startHubSpotStub } from '../stub/hubspot/hubspot-stub.ts';
import { startStub } from '../stub/stub.ts';
import { tempDir } from '../support/files/temp-dir.ts';
import { runLeadsync, startDaemon, writeConfig } from '../support/program/leadsync.ts';
import { aLead } from '../support/scene/a-lead.ts';
import { until } from '../support/time/until.ts';

const ROUNDS = 6;
/** New leads of a round. */
const LEADS = 40;
const PERSONS = 90;

test.each(['deal', 'lead'] as const)(
  'every lead is one %s in HubSpot, and every person one contact, over kills and lost answers',
  async (object) => {
    const [service, hubspot] = await Promise.all([startStub({ leads: 0 }), startHubSpotStub()]);
    onTestFinished(() => Promise.all([service.close(), hubspot.close()]).then(() => undefined));
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
          type: 'hubspot',
          token: hubspot.token,
          api_url: hubspot.url,
          object,
          batch: { max: 7 },
          retry: { schedule: Array.from({ length: 50 }, () => '200ms') },
        },
      },
    });
    expect((await runLeadsync(['setup', 'crm', '--yes', '-c', configFile])).code).toBe(0);
    const records = () => hubspot.records[`${object}s`];
    const emails = new Map<string, string | undefined>();
    const lost = ['contacts/batch/create', `${object}s/batch/`, 'contacts/batch/update', 'batch/associate'];
    for (let round = 1; round <= ROUNDS; round += 1) {
      for (let n = 0; n < LEADS; n += 1) {
        const id = emails.size + 1;
        const email = id % 10 === 0 ? undefined : `person${id % PERSONS}@example.com`;
        emails.set(`main:${id}`, email);
        const typed = email ?? 'none';
        service.addRaw(aLead({ id, client_email: id % 2 === 0 ? typed : typed.toUpperCase() }));
      }
      // Before the daemon starts, which may deliver every lead while it is waited for.
      const wanted = round === ROUNDS ? emails.size : records().length + 10;
      const daemon = await startDaemon(configFile, adminUrl);
      for (const at of lost)
        hubspot.misbehave({ answer: round % 2 === 0 ? 'cut' : 'truncated', stores: true, at });
      await until(`${wanted} records are in HubSpot`, () => records().length >= wanted, 120_000);
      if (round < ROUNDS) await daemon.kill('SIGKILL');
      else {
        await until(
          'everything is delivered',
          async () => {
            const { stdout } = await runLeadsync(['status', '--json', '-c', configFile]);
            return (JSON.parse(stdout) as { sinks: { pending: number }[] }).sinks[0]?.pending === 0;
          },
          120_000,
        );
        expect(await daemon.kill('SIGTERM')).toEqual({ code: 0, signal: null });
      }
    }
    const contacts = new Map(hubspot.records.contacts.map(({ id, properties }) => [id, properties['email']]));
    const held = records().map(({ id, properties }) => {
      const linked = hubspot.associated(`${object}s`, id, 'contacts').map((contact) => contacts.get(contact));
      return [properties['leadsync_key'], linked];
    });
    expect(new Map(held as [string, unknown][])).toEqual(
      new Map([...emails].map(([key, email]) => [key, [email]])),
    );
    expect(held).toHaveLength(ROUNDS * LEADS);
    const withEmail = [...contacts.values()].filter((email) => email !== undefined);
    expect(withEmail.length).toBe(new Set(withEmail).size);
    expect(contacts.size - withEmail.length).toBe([...emails.values()].filter((email) => !email).length);
  },
);

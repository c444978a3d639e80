import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { openHubSpot } from '../chaos/crms/hubspot.ts';
import { openPipedrive } from '../chaos/crms/pipedrive.ts';
import { openSalesforce } from '../chaos/crms/salesforce.ts';
import { startStub } from '../stub/stub.ts';
import { tempDir } from '../support/files/temp-dir.ts';
import { runLeadsync, startDaemon, writeConfig } from '../support/program/leadsync.ts';
import { aLead } from '../support/scene/a-lead.ts';
import { until } from '../support/time/until.ts';

const crms = { hubspot: openHubSpot, salesforce: openSalesforce, pipedrive: openPipedrive };

test.each(Object.entries(crms))(
  'a restored ledger, which has forgotten the last deliveries, makes no record in %s again',
  async (name, open) => {
    const [service, crm] = await Promise.all([startStub({ leads: 0 }), open()]);
    onTestFinished(() => Promise.all([service.close(), crm.close()]).then(() => undefined));
    const folder = tempDir();
    const { configFile, adminUrl } = await writeConfig(folder, {
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
          ...crm.options,
          batch: { max: 3 },
          retry: { schedule: Array.from({ length: 50 }, () => '200ms') },
        },
      },
    });
    const run = async (...args: string[]) => {
      const { code, stdout, stderr } = await runLeadsync([...args, '-c', configFile]);
      expect([code, code === 0 ? '' : stderr]).toEqual([0, '']);
      return stdout;
    };
    /** Lists six more leads of four persons, and returns their keys. */
    const list = (first: number) =>
      [0, 1, 2, 3, 4, 5].map((n) => {
        const id = first + n;
        service.addRaw(aLead({ id, client_email: `person${id % 4}@example.com` }));
        return `main:${id}`;
      });
    const deliverAll = async (wanted: readonly string[]) => {
      const daemon = await startDaemon(configFile, adminUrl);
      await until(
        `${name} has ${wanted.length} leads, and leadsync knows it`,
        async () => {
          if (new Set(crm.held().keys).size < wanted.length) return false;
          const { sources, sinks } = JSON.parse(await run('status', '--json')) as Status;
          return sinks[0]?.pending === 0 && sources[0]?.leads === wanted.length;
        },
        120_000,
      );
      expect(await daemon.kill('SIGTERM')).toEqual({ code: 0, signal: null });
    };

    await run('setup', 'crm', '--yes');
    const before = list(1);
    await deliverAll(before);
    const backups = join(folder, 'backups');
    await run('backup', '--to', backups);
    const all = [...before, ...list(7)];
    await deliverAll(all);
    await run('restore', join(backups, readdirSync(backups)[0] ?? ''), '--yes', '--replace');
    await deliverAll(all);

    const { keys, faults } = crm.held();
    expect(keys.toSorted()).toEqual(all.toSorted());
    expect(faults).toEqual([]);
    expect(await run('reconcile', '--sink', 'crm')).toBe(
      `crm: ${all.length} leads delivered, ${all.length} held, 0 missing, 0 foreign.\n`,
    );
  },
);

interface Status {
  readonly sources: readonly { readonly leads: number }[];
  readonly sinks: readonly { readonly pending: number }[];
}

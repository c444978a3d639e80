import { join } from 'node:path';
import { atLeast, atMost, figureOf } from '../figure.ts';
import { startHubSpotAccount } from '../hubspot-account.ts';
import { install, runLeadsync } from '../leadsync-under-test.ts';
import type { Use } from '../process-use.ts';
import { runReference } from '../reference-process.ts';
import { settleDisk } from '../servers.ts';
import { inTurns, newFolder, type Work, type Workbench } from '../workbench.ts';

/** More than any program makes, so that the limits of an account do not slow it down. */
const REQUESTS = 1_000_000;
const LEAST_RATE = 3_000;
const MAX_MB = 350;

/** Row 16: a first sync into HubSpot, a contact and a deal of each lead. */
export const hubspot: Work = {
  number: 16,
  name: 'hubspot',
  measure: async (workbench) => {
    const leads = workbench.quick ? 10_000 : 100_000;
    await workbench.world.show({ leads });
    const results = await inTurns(workbench, {
      leadsync: () => leadsyncRun(workbench),
      'plain script': () => plainRun(workbench),
    });
    return {
      title: `First sync of ${leads.toLocaleString('en')} leads into HubSpot, without its limits`,
      figures: [
        figureOf('rate', 'leads/s', results, ({ wallMs }) => leads / (wallMs / 1000), [atLeast(LEAST_RATE)]),
        figureOf('CPU time', 's', results, ({ cpuMs }) => cpuMs / 1000),
        figureOf('peak memory', 'MB', results, ({ peakMb }) => peakMb, [atMost(MAX_MB)]),
      ],
      series: [],
      notes: [
        'Both write to a substitute for HubSpot on this machine, which checks every value as HubSpot does and runs beside them. The rate is that of the whole process, including its start and the listing.',
        'leadsync reads the contacts before it writes, so that it changes nothing that people have changed, and writes each lead and each outcome to the disk. The plain script overwrites, and does not.',
      ],
    };
  },
};

async function leadsyncRun(workbench: Workbench): Promise<Use> {
  const account = await startHubSpotAccount(REQUESTS);
  try {
    const crm = { type: 'hubspot', token: account.token, api_url: account.url };
    const installed = await install(workbench, { sinks: { crm } });
    await runLeadsync({ ...workbench, env: {} }, installed, ['setup', 'crm', '--yes']);
    settleDisk();
    return await runLeadsync(workbench, installed, ['sync']);
  } finally {
    await account.close();
  }
}

async function plainRun(workbench: Workbench): Promise<Use> {
  const account = await startHubSpotAccount(REQUESTS);
  try {
    await makeKey(account);
    const options = { hubspot: account.url, 'hubspot-token': account.token };
    const seen = join(newFolder(workbench), 'seen.db');
    settleDisk();
    return await runReference('plain-script', { 'base-url': workbench.world.baseUrl(), seen, ...options });
  } finally {
    await account.close();
  }
}

/** Makes the property by which the plain script recognises a deal. */
async function makeKey({ url, token }: { readonly url: string; readonly token: string }): Promise<void> {
  const answer = await fetch(`${url}/crm/properties/2026-09/deals`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      name: 'leadsync_key',
      label: 'Key',
      type: 'string',
      fieldType: 'text',
      groupName: 'dealinformation',
      hasUniqueValue: true,
    }),
  });
  if (!answer.ok) throw new Error(`HubSpot answered ${answer.status}: ${await answer.text()}`);
}

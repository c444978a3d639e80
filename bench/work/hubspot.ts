import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { limitsOfPlans } from '../../test/stub/hubspot/limits.ts';
import { atLeast, atMost, figureOf } from '../figure.ts';
import { type AccountLimits, type HubSpotAccount, startHubSpotAccount } from '../hubspot-account.ts';
import { install, runLeadsync } from '../leadsync-under-test.ts';
import type { Use } from '../process-use.ts';
import { runReference } from '../reference-process.ts';
import { settleDisk } from '../servers.ts';
import { inTurns, newFolder, type Work, type Workbench } from '../workbench.ts';

/** More requests in ten seconds than any program makes here, so that the limits of an account do not slow it down. leadsync ignores a header that says more. */
const UNLIMITED = { requests: 10_000 };
/** The smallest limits that HubSpot has: 100 requests in ten seconds. */
const FREE_PLAN = { limits: 'free' } as const;
/** The period of the limit, in ms. */
const LIMIT_MS = 10_000;
/** Maximum time of a first sync at the limits of an account, as a multiple of the shortest time that they allow. */
const MAX_TIMES_ALLOWED = 1.05;
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
    const limitedLeads = workbench.quick ? 5_000 : 20_000;
    await workbench.world.show({ leads: limitedLeads });
    workbench.tell(`${limitedLeads} leads within the limits of the free plan`);
    const limited = await limitedRun(workbench);
    const limitedResults = {
      leadsync: [limited],
      'the limits allow': [{ ...limited, wallMs: limited.allowedMs }],
    };
    return {
      title: `First sync of ${leads.toLocaleString('en')} leads into HubSpot`,
      figures: [
        figureOf('rate', 'leads/s', results, ({ wallMs }) => leads / (wallMs / 1000), [atLeast(LEAST_RATE)]),
        figureOf('CPU time', 's', results, ({ cpuMs }) => cpuMs / 1000),
        figureOf('peak memory', 'MB', results, ({ peakMb }) => peakMb, [atMost(MAX_MB)]),
        figureOf(
          `${limitedLeads.toLocaleString('en')} leads at 100 requests in 10 s: wall time`,
          's',
          limitedResults,
          ({ wallMs }) => wallMs / 1000,
          [atMost(MAX_TIMES_ALLOWED, 'the limits allow')],
        ),
        figureOf(
          'requests that HubSpot refused with 429',
          '',
          { leadsync: [limited] },
          ({ refused }) => refused,
          [atMost(0)],
        ),
      ],
      series: [],
      notes: [
        'Both write to a substitute for HubSpot on this machine, which checks every value as HubSpot does and runs beside them. In the first three lines it has no limits. The rate is that of the whole process, including its start and the listing.',
        'leadsync reads the contacts before it writes, so that it changes nothing that people have changed, and writes each lead and each outcome to the disk. The plain script overwrites, and does not.',
        'With limits, the shortest time is that of the requests that leadsync made: the first 100 at once, and 100 every 10 s after them. leadsync keeps 2% of each 10 s as a margin, because the clock of HubSpot is not its own.',
      ],
    };
  },
};

function leadsyncRun(workbench: Workbench): Promise<Use> {
  return withAccount(UNLIMITED, (account) => firstSync(workbench, account));
}

/** A first sync within the limits of an account. */
interface LimitedUse extends Use {
  /** Requests that the account answered with 429. */
  readonly refused: number;
  /** The shortest time in which the account allows as many requests, in ms. */
  readonly allowedMs: number;
}

function limitedRun(workbench: Workbench): Promise<LimitedUse> {
  return withAccount(FREE_PLAN, async (account) => {
    let made = 0;
    const use = await firstSync(workbench, account, async () => {
      made = (await account.counts()).requests;
      await sleep(LIMIT_MS);
    });
    const { requests, refused } = await account.counts();
    const { tenSecondly } = limitsOfPlans[FREE_PLAN.limits];
    return { ...use, refused, allowedMs: Math.floor((requests - made - 1) / tenSecondly) * LIMIT_MS };
  });
}

/** Prepares an account, waits for `prepared`, and measures a first sync into it. */
async function firstSync(
  workbench: Workbench,
  { url, token }: HubSpotAccount,
  prepared: () => Promise<void> = async () => {},
): Promise<Use> {
  const installed = await install(workbench, { sinks: { crm: { type: 'hubspot', token, api_url: url } } });
  await runLeadsync({ ...workbench, env: {} }, installed, ['setup', 'crm', '--yes']);
  await prepared();
  settleDisk();
  return runLeadsync(workbench, installed, ['sync']);
}

function plainRun(workbench: Workbench): Promise<Use> {
  return withAccount(UNLIMITED, async (account) => {
    await makeKey(account);
    const options = { hubspot: account.url, 'hubspot-token': account.token };
    const seen = join(newFolder(workbench), 'seen.db');
    settleDisk();
    return runReference('plain-script', { 'base-url': workbench.world.baseUrl(), seen, ...options });
  });
}

/** Starts an account, calls `act`, and stops the account. */
async function withAccount<Result>(
  limits: AccountLimits,
  act: (account: HubSpotAccount) => Promise<Result>,
): Promise<Result> {
  const account = await startHubSpotAccount(limits);
  try {
    return await act(account);
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

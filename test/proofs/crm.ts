// What a real account at a CRM does where the documents of its vendor are silent, in twelve steps. `npm run proof:crm -- --help`.
import { systemClock } from '../../src/platform/time/clock.ts';
import { openHubSpot } from '../sinks/hubspot/open-hubspot.ts';
import { openPipedrive } from '../sinks/pipedrive/open-pipedrive.ts';
import { openSalesforce } from '../sinks/salesforce/open-salesforce.ts';
import { readOrExit } from '../support/program/command-line.ts';
import { type Opened, runTool } from '../support/program/tool.ts';
import { type CrmOptions, readOptions, USAGE } from './crm-options.ts';
import { prove } from './crm-proof.ts';
import { HubSpotAccount } from './hubspot-account.ts';
import { type Proof as HubSpotProof, steps as hubSpotSteps } from './hubspot-steps.ts';
import { PipedriveAccount } from './pipedrive-account.ts';
import { type PipedriveProof, pipedriveSteps } from './pipedrive-steps.ts';
import { SalesforceOrg } from './salesforce-org.ts';
import { type Proof as SalesforceProof, steps as salesforceSteps } from './salesforce-steps.ts';

const options = readOrExit(readOptions, USAGE);

await runTool((opened) => {
  switch (options.crm) {
    case 'hubspot':
      return proveHubSpot(opened, options);
    case 'salesforce':
      return proveSalesforce(opened, options);
    case 'pipedrive':
      return provePipedrive(opened, options);
  }
});

function proveHubSpot(opened: Opened, access: Extract<CrmOptions, { crm: 'hubspot' }>): Promise<number> {
  const account = new HubSpotAccount(access);
  const openSink = (object: 'deal' | 'lead') =>
    opened.add(
      () => openHubSpot(access, { options: { object } }),
      (sink) => sink.close(),
    );
  const open = async (): Promise<HubSpotProof> => ({
    account,
    sink: await openSink('deal'),
    leadSink: await openSink('lead'),
  });
  return prove(opened, account, { url: access.url, steps: hubSpotSteps, open });
}

function proveSalesforce(
  opened: Opened,
  access: Extract<CrmOptions, { crm: 'salesforce' }>,
): Promise<number> {
  const org = new SalesforceOrg(access);
  const openSink = (duplicates: 'save' | 'update') =>
    opened.add(
      () => openSalesforce(access, { options: { duplicates } }),
      (sink) => sink.close(),
    );
  const open = async (): Promise<SalesforceProof> => ({
    org,
    sink: await openSink('save'),
    fillingSink: await openSink('update'),
  });
  return prove(opened, org, { url: access.url, steps: salesforceSteps, open });
}

function provePipedrive(opened: Opened, access: Extract<CrmOptions, { crm: 'pipedrive' }>): Promise<number> {
  const account = new PipedriveAccount(access);
  const openSink = (object: 'lead' | 'deal') =>
    opened.add(
      () => openPipedrive(access, { options: { object }, parts: { clock: systemClock } }),
      (sink) => sink.close(),
    );
  const open = async (): Promise<PipedriveProof> => ({
    account,
    sink: await openSink('lead'),
    dealSink: await openSink('deal'),
  });
  return prove(opened, account, { url: access.url, steps: pipedriveSteps, open });
}

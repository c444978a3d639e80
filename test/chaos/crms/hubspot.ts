import { type HubSpotStub, startHubSpotStub } from '../../stub/hubspot/hubspot-stub.ts';
import type { Misbehaviour } from '../../stub/hubspot/misbehaviours.ts';
import { type Crm, type HeldRecords, repeated } from './crm.ts';

const ALWAYS = { times: Number.POSITIVE_INFINITY };
/** What the account can do wrong, in words. */
export const TROUBLES: Readonly<Record<string, Misbehaviour>> = {
  'breaks the connection': { ...ALWAYS, answer: 'cut' },
  'stores records and breaks the connection': { ...ALWAYS, answer: 'cut', stores: true },
  'stores records and sends half of an answer': { ...ALWAYS, answer: 'truncated', stores: true },
  'stores contacts and breaks the connection': {
    ...ALWAYS,
    answer: 'cut',
    stores: true,
    at: 'contacts/batch/create',
  },
  'stores deals and breaks the connection': { ...ALWAYS, answer: 'cut', stores: true, at: 'deals/batch' },
  'links and breaks the connection': { ...ALWAYS, answer: 'cut', stores: true, at: 'associate' },
  'stores records and names none': { ...ALWAYS, answer: 'no-results', stores: true, at: 'batch/upsert' },
  'stores records and leaves one out': {
    ...ALWAYS,
    answer: 'fewer-results',
    stores: true,
    at: 'batch/upsert',
  },
  'refuses the token': { ...ALWAYS, answer: 'unauthorized' },
  'has a locked record': { ...ALWAYS, answer: 'locked', at: 'batch/' },
  'says that the limit of a second is reached': { ...ALWAYS, answer: 'secondly' },
  'says 500': { ...ALWAYS, answer: 'internal-error' },
  'says 502 and stores': { ...ALWAYS, answer: 'bad-gateway', stores: true },
  'shows a page of a proxy': { ...ALWAYS, answer: 'html-200' },
  'never answers': { ...ALWAYS, answer: 'silent' },
};

/** Starts a HubSpot account, which makes a contact and a deal of each lead. */
export async function openHubSpot(): Promise<Crm> {
  const stub = await startHubSpotStub();
  return {
    sink: 'hubspot',
    oneIn: 5,
    options: { type: 'hubspot', token: stub.token, api_url: stub.url },
    textField: 'deal.dealname',
    misbehave: (trouble) => stub.misbehave(TROUBLES[trouble] as Misbehaviour),
    behave: () => stub.behave(),
    held: () => heldBy(stub),
    close: () => stub.close(),
  };
}

function heldBy(stub: HubSpotStub): HeldRecords {
  const { contacts, deals } = stub.records;
  const values = (name: string) =>
    contacts.map(({ properties }) => properties[name]).filter((value) => value !== undefined && value !== '');
  const linked = new Map(
    deals.map(({ id, properties }) => [
      properties['leadsync_key'] ?? '',
      stub.associated('deals', id, 'contacts').length,
    ]),
  );
  return {
    keys: deals.map(({ properties }) => properties['leadsync_key'] ?? ''),
    faults: [
      ...repeated(values('email') as string[]).map(() => 'two contacts have one email address'),
      ...repeated(values('leadsync_key') as string[]).map((key) => `two contacts have the key ${key}`),
      ...[...linked].flatMap(([key, count]) =>
        count === 1 ? [] : [`the deal ${key} is linked with ${count} contacts`],
      ),
    ],
  };
}

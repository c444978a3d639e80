import type { Delivery } from '../../src/leads/delivery.ts';
import { VERSION } from '../../src/sinks/hubspot/hubspot-api.ts';
import type { Sink } from '../../src/sinks/sink.ts';
import { SinkUnavailable } from '../../src/sinks/sink-unavailable.ts';
import { aBatch, aDelivery } from '../support/scene/a-delivery.ts';
import { aLead } from '../support/scene/a-lead.ts';
import { isDelivered, kindsOf, summaryOfErasure } from './crm-outcomes.ts';
import type { Found, Step } from './crm-proof.ts';
import { type Answer, type HubSpotAccount, summary } from './hubspot-account.ts';

const NEVER = new AbortController().signal;
const KEY = 'leadsync_key';

/** What the steps work on. */
export interface Proof {
  readonly account: HubSpotAccount;
  /** With a deal for each lead. */
  readonly sink: Sink;
  /** With a lead of Sales Hub for each lead. */
  readonly leadSink: Sink;
}

/** The steps, in order. */
export const steps: readonly Step<Proof>[] = [
  { name: 'account and limits', run: readLimits },
  { name: 'setup, twice', run: setUpTwice },
  { name: 'two enquiries of a person', run: deliverTwo },
  { name: 'the same batch again', run: deliverAgain },
  { name: 'results of a batch', run: readResults },
  { name: 'wrong values', run: tryWrongValues },
  { name: 'property that is no key', run: tryWrongKeys },
  { name: 'upsert that omits a value', run: upsertPartly },
  { name: 'merged contact', run: mergeTwo },
  { name: 'lifecycle stage backward', run: goBackward },
  { name: 'leads of Sales Hub', run: deliverLeadIfPlanned },
  { name: 'erasure', run: eraseAll },
];

async function readLimits({ account }: Proof): Promise<Found> {
  const answer = await account.call('GET', `/account-info/${VERSION}/details`);
  const { portalId, accountType, uiDomain } = answer.body ?? {};
  const limits = ['max', 'remaining', 'interval-milliseconds', 'daily', 'daily-remaining'].map(
    (name) => `${name} ${answer.headers.get(`x-hubspot-ratelimit-${name}`) ?? '-'}`,
  );
  const shown = `account ${portalId} (${accountType}, ${uiDomain}); limits: ${limits.join(', ')}`;
  return { holds: answer.status === 200, learned: answer.status === 200 ? shown : summary(answer) };
}

async function setUpTwice({ account, sink, leadSink }: Proof): Promise<Found> {
  let made = 0;
  const parts = async (one: Sink) => (await one.missingParts?.(NEVER)) ?? [];
  const make = async (one: Sink) => {
    for (const { what, make: makePart } of await parts(one)) {
      const [, name = '', object = ''] = /`(\w+)` of (\w+)/.exec(what) ?? [];
      await account.noteGroup(object);
      account.noteProperty(object, name);
      await makePart(NEVER);
      made += 1;
    }
  };
  await make(sink);
  const left = (await parts(sink)).length;
  const leads = await make(leadSink).then(
    () => 'the account has leads',
    (error: Error) => `no leads: ${error.message}`,
  );
  await sink.check(NEVER);
  return { holds: left === 0, learned: `${made} properties made, then ${left} missing; ${leads}` };
}

/** Returns the delivery of an enquiry of this run. */
function anEnquiry(
  account: HubSpotAccount,
  id: number,
  changes: Readonly<Record<string, unknown>>,
): Delivery {
  const delivery = aDelivery({
    source: account.run.replaceAll(' ', '-'),
    leadId: BigInt(id),
    raw: aLead({ id, client_name: account.run, service_name: account.run, ...changes }),
  });
  account.noteKey(keyOf(delivery));
  return delivery;
}

function keyOf({ source, leadId }: Delivery): string {
  return `${source}:${leadId}`;
}

function twoEnquiries(account: HubSpotAccount): readonly Delivery[] {
  return [1, 2].map((id) => anEnquiry(account, id, { client_email: account.email('first') }));
}

async function countsOf(account: HubSpotAccount): Promise<string> {
  return `${(await account.keyed('contacts')).length} contact, ${(await account.keyed('deals')).length} deals`;
}

async function deliverTwo({ account, sink }: Proof): Promise<Found> {
  const outcomes = await sink.deliver(aBatch(twoEnquiries(account)), NEVER);
  const deals = await account.keyed('deals');
  const path = `/crm/associations/${VERSION}/deals/contacts/batch/read`;
  const links = await account.call('POST', path, { inputs: deals.map((id) => ({ id })) });
  const linked = new Set(
    (links.body?.results ?? []).flatMap(({ to = [] }: { to?: { toObjectId: unknown }[] }) =>
      to.map(({ toObjectId }) => String(toObjectId)),
    ),
  );
  const counts = await countsOf(account);
  return {
    holds: isDelivered(outcomes) && counts === '1 contact, 2 deals' && linked.size === 1,
    learned: `${kindsOf(outcomes)}: ${counts}, linked with ${linked.size} contact`,
  };
}

async function deliverAgain({ account, sink }: Proof): Promise<Found> {
  const outcomes = await sink.deliver(aBatch(twoEnquiries(account)), NEVER);
  const counts = await countsOf(account);
  const [first] = outcomes;
  const url = first?.kind === 'delivered' ? first.ref?.url : undefined;
  return {
    holds: isDelivered(outcomes) && counts === '1 contact, 2 deals',
    learned: `${kindsOf(outcomes)}: ${counts}; open ${url} to see whether the address is right`,
  };
}

async function readResults({ account }: Proof): Promise<Found> {
  const inputs = ['a', 'b', 'c'].map((word) => ({
    objectWriteTraceId: `trace ${word}`,
    idProperty: 'email',
    id: account.email(word),
    properties: { email: account.email(word), firstname: account.run },
  }));
  const [a, b, c] = inputs;
  const wrong = { ...b, properties: { ...b?.properties, lifecyclestage: 'no such stage' } };
  const right = await account.batch('contacts', 'upsert', { inputs: [c, a] });
  const mixed = await account.batch('contacts', 'upsert', { inputs: [a, wrong] });
  const results = right.body?.results ?? [];
  const emails = results.map(({ properties }: { properties: { email: string } }) => properties.email);
  const facts = [
    `HTTP ${right.status}`,
    `results ${results.every((one: object) => 'objectWriteTraceId' in one) ? 'have' : 'lack'} trace ids`,
    `in ${emails[0] === c?.id ? 'the order sent' : 'another order'}`,
    `\`new\` is ${results.map((one: { new?: boolean }) => String(one.new)).join('/')}`,
    `one wrong value: HTTP ${mixed.status}, ${mixed.body?.results?.length ?? 0} results, ${mixed.body?.errors?.length ?? 0} errors`,
    `trace id of the error: ${JSON.stringify(mixed.body?.errors?.[0]?.context?.objectWriteTraceId ?? null)}`,
  ];
  return { learned: facts.join('; ') };
}

const WRONG: Readonly<Record<string, string>> = {
  email: 'no address',
  lifecyclestage: 'no such stage',
  hubspot_owner_id: '1',
  createdate: '2026-01-01',
  no_such_property: 'x',
  firstname: 'x'.repeat(70_000),
};

async function tryWrongValues({ account, sink }: Proof): Promise<Found> {
  const codes: string[] = [];
  for (const [name, value] of Object.entries(WRONG)) {
    const properties = { email: account.email('wrong'), [name]: value };
    const answer = await account.batch('contacts', 'create', { inputs: [{ properties }] });
    const code = /"error":"(\w+)"/.exec(JSON.stringify(answer.body).replaceAll('\\', ''))?.[1];
    codes.push(`${name} HTTP ${answer.status} ${codeOf(answer) ?? code ?? ''}`.trim());
    if (answer.status < 300) await forget(account, answer);
  }
  const [outcome] = await sink.deliver(
    aBatch([anEnquiry(account, 3, { client_email: 'proof@leadsync.invalid' })]),
    NEVER,
  );
  const remark = outcome?.kind === 'delivered' ? (outcome.remark ?? 'delivered with it') : outcome?.kind;
  return {
    holds: outcome?.kind === 'delivered',
    learned: `${codes.join('; ')}; a lead with an address in .invalid: ${remark}`,
  };
}

function codeOf({ body }: Answer): string | undefined {
  return body?.errors?.[0]?.code ?? body?.errors?.[0]?.errors?.[0]?.code;
}

/** Removes a contact that HubSpot should not have made, so that the next one can have its address. */
async function forget(account: HubSpotAccount, { body }: Answer): Promise<void> {
  for (const { id } of body?.results ?? [])
    await account.call('DELETE', `/crm/objects/${VERSION}/contacts/${id}`);
}

async function tryWrongKeys({ account }: Proof): Promise<Found> {
  const read = (idProperty: string) =>
    account.batch('contacts', 'read', { idProperty, inputs: [{ id: 'x' }], properties: [KEY] });
  const note = { name: 'leadsync_proof', label: 'leadsync proof', type: 'string', fieldType: 'text' };
  const path = `/crm/properties/${VERSION}/notes`;
  const groups = await account.call('GET', `${path}/groups`);
  const groupName = groups.body?.results?.[0]?.name;
  const unique = await account.call('POST', path, { ...note, groupName, hasUniqueValue: true });
  if (unique.status < 300) account.noteProperty('notes', note.name);
  const facts = [
    `read by an absent property: ${summary(await read('no_such_property'))}`,
    `by one without unique values: ${summary(await read('firstname'))}`,
    `by an unknown key: ${summary(await read(KEY))}`,
    `unique property of notes: ${unique.status < 300 ? 'taken' : summary(unique)}`,
  ];
  return { learned: facts.join('; ') };
}

async function upsertPartly({ account }: Proof): Promise<Found> {
  const email = account.email('partly');
  const id = await account.makeContact({ email, firstname: account.run, company: 'kept?' });
  const input = { idProperty: 'email', id: email, properties: { email, lastname: 'Proof' } };
  const answer = await account.batch('contacts', 'upsert', { inputs: [input] });
  const { company } = await account.contact(id, ['company']);
  const kept = company === 'kept?' ? 'is kept' : 'is cleared';
  return { learned: answer.status < 300 ? `an omitted property ${kept}` : summary(answer) };
}

async function mergeTwo({ account, sink }: Proof): Promise<Found> {
  const [first, second] = [account.email('primary'), account.email('secondary')];
  const primaryObjectId = await account.makeContact({ email: first, firstname: account.run });
  const objectIdToMerge = await account.makeContact({ email: second, firstname: account.run });
  const path = `/crm/objects/${VERSION}/contacts/merge`;
  const merged = await account.call('POST', path, { primaryObjectId, objectIdToMerge });
  if (merged.status >= 300) return { learned: `not merged: ${summary(merged)}` };
  const read = await account.batch('contacts', 'read', {
    idProperty: 'email',
    inputs: [{ id: second }],
    properties: ['email', 'hs_additional_emails'],
  });
  const created = await account.batch('contacts', 'create', { inputs: [{ properties: { email: second } }] });
  const update = { inputs: [{ id: objectIdToMerge, properties: { lastname: 'Proof' } }] };
  const updated = await account.batch('contacts', 'update', update);
  const enquiry = anEnquiry(account, 4, { client_email: second });
  const outcomes = await sink.deliver(aBatch([enquiry]), NEVER);
  const own = await account.keyed('contacts', [keyOf(enquiry)]); // a contact that the enquiry made beside the merged one
  const facts = [
    `read by the second address ${read.body?.results?.length ? 'finds' : 'does not find'} it`,
    `create with it: ${summary(created)}`,
    `update by the old id names ${updated.body?.results?.length ?? 0} records`,
    `an enquiry with it: ${kindsOf(outcomes)}, ${own.length} new contacts`,
  ];
  return { holds: isDelivered(outcomes) && own.length === 0, learned: facts.join('; ') };
}

async function goBackward({ account }: Proof): Promise<Found> {
  const id = await account.makeContact({ email: account.email('stage'), lifecyclestage: 'customer' });
  const input = { id, properties: { lifecyclestage: 'lead' } };
  const answer = await account.batch('contacts', 'update', { inputs: [input] });
  const { lifecyclestage } = await account.contact(id, ['lifecyclestage']);
  return { learned: `${summary(answer)}; the stage is then ${lifecyclestage}` };
}

/** Most plans have no leads, which breaks no promise. */
async function deliverLeadIfPlanned(proof: Proof): Promise<Found> {
  try {
    return await deliverLead(proof);
  } catch (error) {
    if (!(error instanceof SinkUnavailable) || !(error.httpStatus === 403 || error.httpStatus === 404))
      throw error;
    return { learned: `not asked: ${error.message}` };
  }
}

async function deliverLead({ account, leadSink }: Proof): Promise<Found> {
  const enquiry = [anEnquiry(account, 5, { client_email: account.email('sales') })];
  const outcomes = await leadSink.deliver(aBatch(enquiry), NEVER);
  const alone = await account.batch('leads', 'create', {
    inputs: [{ properties: { hs_lead_name: account.run } }],
  });
  const again = await leadSink.deliver(aBatch(enquiry), NEVER);
  const count = (await account.keyed('leads')).length;
  return {
    holds: isDelivered([...outcomes, ...again]) && count === 1,
    learned: `${kindsOf(outcomes)}, again ${kindsOf(again)}: ${count} lead; without a contact: ${summary(alone)}`,
  };
}

async function eraseAll({ account, sink }: Proof): Promise<Found> {
  const email = account.email('erased');
  const enquiry = anEnquiry(account, 6, { client_email: email });
  const outcomes = await sink.deliver(aBatch([enquiry]), NEVER);
  const { source, leadId } = enquiry;
  const erased = summaryOfErasure(await sink.erase?.({ leads: [{ source, leadId }], rejected: [] }, NEVER));
  const again = await account.batch('contacts', 'create', { inputs: [{ properties: { email } }] });
  return {
    holds: isDelivered(outcomes) && erased === '1 contact, 1 deal deleted, 0 kept',
    learned: `${erased}; the same address again: ${summary(again)}`,
  };
}

import type { Delivery } from '../../src/leads/delivery.ts';
import { VERSION } from '../../src/sinks/salesforce/salesforce-api.ts';
import type { Sink } from '../../src/sinks/sink.ts';
import { aBatch, aDelivery } from '../support/scene/a-delivery.ts';
import { aLead } from '../support/scene/a-lead.ts';
import { isDelivered, kindsOf, summaryOfErasure } from './crm-outcomes.ts';
import type { Found, Step } from './crm-proof.ts';
import { type SalesforceOrg, summary } from './salesforce-org.ts';

const NEVER = new AbortController().signal;
const KEY = 'Leadsync_Key__c';
/** Lets Salesforce save a lead of which a duplicate rule alerts. */
const SAVES = { 'sforce-duplicate-rule-header': 'allowSave=true' };
/** An id of no record. */
const NOBODY = '000000000000000AAA';

/** What the steps work on. */
export interface Proof {
  readonly org: SalesforceOrg;
  /** Saves leads of which a duplicate rule alerts. */
  readonly sink: Sink;
  /** Fills the lead that a duplicate rule finds. */
  readonly fillingSink: Sink;
}

/** The steps, in order. */
export const steps: readonly Step<Proof>[] = [
  { name: 'org and limits', run: readLimits },
  { name: 'setup, twice', run: setUpTwice },
  { name: 'two enquiries of a person', run: deliverTwo },
  { name: 'the same batch again', run: deliverAgain },
  { name: 'results of several records', run: readResults },
  { name: 'wrong values', run: tryWrongValues },
  { name: 'field that is no key', run: tryWrongKeys },
  { name: 'duplicate rule', run: meetDuplicateRule },
  { name: 'assignment', run: assign },
  { name: 'deleted lead', run: deleteOne },
  { name: 'converted lead', run: convertOne },
  { name: 'erasure', run: eraseOne },
];

async function readLimits({ org }: Proof): Promise<Found> {
  const answer = await org.call('GET', 'limits');
  if (answer.status !== 200) return { holds: false, learned: summary(answer) };
  const [organization] = await org.query('SELECT OrganizationType, IsSandbox FROM Organization');
  const { Max, Remaining } = answer.body.DailyApiRequests ?? {};
  const facts = [
    `${organization?.['OrganizationType']}, sandbox ${organization?.['IsSandbox']}, API ${VERSION}`,
    `${Remaining} of ${Max} API requests left`,
    `Sforce-Limit-Info: ${answer.headers.get('sforce-limit-info') ?? '-'}`,
  ];
  return { holds: answer.headers.has('sforce-limit-info'), learned: facts.join('; ') };
}

async function setUpTwice({ org, sink }: Proof): Promise<Found> {
  await org.notePreparations();
  const missing = async () => (await sink.missingParts?.(NEVER)) ?? [];
  const parts = await missing();
  for (const { make } of parts) await make(NEVER);
  const left = (await missing()).length;
  await sink.check(NEVER);
  return { holds: left === 0, learned: `${parts.length} parts made, then ${left} missing` };
}

/** Returns the delivery of an enquiry of this run. */
function anEnquiry(
  org: SalesforceOrg,
  id: number,
  changes: Readonly<Record<string, unknown>> = {},
  delivery: Partial<Delivery> = {},
): Delivery {
  org.noteKey(keyOf(org, id));
  return aDelivery({
    source: org.source,
    leadId: BigInt(id),
    raw: aLead({
      id,
      client_name: org.run,
      service_name: org.run,
      client_email: org.email(`${id}`),
      ...changes,
    }),
    ...delivery,
  });
}

/** Returns a lead of this run as Salesforce takes it. */
function aRecord(org: SalesforceOrg, id: number, fields: Readonly<Record<string, unknown>> = {}) {
  return { [KEY]: keyOf(org, id), LastName: org.run, Company: org.run, ...fields };
}

function keyOf({ source }: SalesforceOrg, id: number): string {
  return `${source}:${id}`;
}

function twoEnquiries(org: SalesforceOrg): readonly Delivery[] {
  return [1, 2].map((id) => anEnquiry(org, id, { client_email: org.email('first') }));
}

async function deliverTwo({ org, sink }: Proof): Promise<Found> {
  const outcomes = await sink.deliver(aBatch(twoEnquiries(org)), NEVER);
  const count = (await org.keyed([1, 2].map((id) => keyOf(org, id)))).length;
  return { holds: isDelivered(outcomes) && count === 2, learned: `${kindsOf(outcomes)}: ${count} leads` };
}

async function deliverAgain({ org, sink }: Proof): Promise<Found> {
  const outcomes = await sink.deliver(aBatch(twoEnquiries(org)), NEVER);
  const count = (await org.keyed([1, 2].map((id) => keyOf(org, id)))).length;
  const [first] = outcomes;
  const url = first?.kind === 'delivered' ? first.ref?.url : undefined;
  return {
    holds: isDelivered(outcomes) && count === 2,
    learned: `${kindsOf(outcomes)}: ${count} leads; open ${url} to see whether the address is right`,
  };
}

async function readResults({ org }: Proof): Promise<Found> {
  const [a, b, c] = [aRecord(org, 11), aRecord(org, 12), aRecord(org, 13)];
  const first = await org.upsert([c, a], SAVES);
  const mixed = await org.upsert([a, { ...b, Email: 'no address' }, c], SAVES);
  const [leadOfC] = await org.keyed([keyOf(org, 13)]);
  const isInOrder =
    first.body?.[0]?.id === leadOfC?.['Id'] && mixed.body?.[1]?.success === false && mixed.body?.length === 3;
  const facts = [
    `HTTP ${first.status}, created ${first.body?.map?.((one: { created?: boolean }) => one.created).join('/')}`,
    `in ${isInOrder ? 'the order sent' : 'another order'}`,
    `one wrong value: ${summary({ ...mixed, body: [mixed.body?.[1]] })}`,
  ];
  return { holds: isInOrder, learned: facts.join('; ') };
}

const WRONG: Readonly<Record<string, unknown>> = {
  Email: 'no address',
  NumberOfEmployees: 'many',
  LastName: 'x'.repeat(81),
  OwnerId: NOBODY,
  IsConverted: true,
  CreatedDate: '2026-01-01T00:00:00Z',
  No_Such_Field__c: 'x',
};

async function tryWrongValues({ org, sink }: Proof): Promise<Found> {
  const codes: string[] = [];
  for (const [name, value] of Object.entries(WRONG)) {
    const { status, body } = await org.upsert([aRecord(org, 21, { [name]: value }), aRecord(org, 22)], SAVES);
    const code = body?.[0]?.errors?.[0]?.statusCode ?? body?.[0]?.errorCode ?? 'taken';
    codes.push(`${name}: HTTP ${status} ${code}${body?.[1]?.success ? ', the other record is taken' : ''}`);
  }
  const enquiry = anEnquiry(org, 23, { client_email: 'a@b.c_d.example' });
  const [outcome] = await sink.deliver(aBatch([enquiry]), NEVER);
  const remark = outcome?.kind === 'delivered' ? (outcome.remark ?? 'delivered with it') : outcome?.kind;
  return {
    holds: outcome?.kind === 'delivered',
    learned: `${codes.join('; ')}; a lead with a strange address: ${remark}`,
  };
}

async function tryWrongKeys({ org }: Proof): Promise<Found> {
  const records = [{ attributes: { type: 'Lead' }, LastName: org.run, Company: org.run }];
  const upsertBy = async (name: string) => {
    const answer = await org.call('PATCH', `composite/sobjects/Lead/${name}`, { allOrNone: false, records });
    org.noteLeads(answer);
    return answer;
  };
  const twice = await org.upsert([aRecord(org, 31), aRecord(org, 31)], SAVES);
  const facts = [
    `by an absent field: ${summary(await upsertBy('No_Such_Key__c'))}`,
    `by one that is no external id: ${summary(await upsertBy('Company'))}`,
    `without a key: ${summary(await upsertBy(KEY))}`,
    `a key twice: ${summary(twice)}, ${(await org.keyed([keyOf(org, 31)])).length} made`,
  ];
  return { learned: facts.join('; ') };
}

async function meetDuplicateRule({ org, fillingSink }: Proof): Promise<Found> {
  const Email = org.email('duplicate');
  const known = aRecord(org, 41, { FirstName: 'Jane', Email, Phone: null });
  await org.upsert([known], SAVES);
  const again = aRecord(org, 42, { FirstName: 'Jane', Email });
  const several = await org.upsert([again]);
  const { [KEY]: key, ...values } = again;
  const single = await org.call('PATCH', `sobjects/Lead/${KEY}/${encodeURIComponent(key)}`, values);
  const saved = await org.upsert([again], SAVES);
  const isFound = several.body?.[0]?.errors?.[0]?.statusCode === 'DUPLICATES_DETECTED';
  const isNamed = (errors: readonly { duplicateResult?: unknown }[] | undefined) =>
    errors?.[0]?.duplicateResult ? 'names' : 'does not name';
  const name = { client_name: `Jane ${org.run}`, client_email: Email };
  const outcomes = await fillingSink.deliver(aBatch([anEnquiry(org, 43, name)]), NEVER);
  const facts = isFound
    ? [
        `several records: ${summary(several)}, which ${isNamed(several.body?.[0]?.errors)} the lead`,
        `one record: ${summary(single)}, which ${isNamed(single.body)} the lead`,
        `with allowSave: ${saved.body?.[0]?.success ? 'saved' : summary(saved)}`,
      ]
    : [`no rule of the org finds the person: ${summary(several)}`];
  return {
    holds: isDelivered(outcomes),
    learned: [...facts, `\`duplicates: update\`: ${kindsOf(outcomes)}`].join('; '),
  };
}

async function assign({ org, sink }: Proof): Promise<Found> {
  const outcomes = await sink.deliver(aBatch([anEnquiry(org, 51)]), NEVER);
  const [lead] = await org.keyed([keyOf(org, 51)], 'Id, OwnerId');
  await org.call('PATCH', `sobjects/Lead/${lead?.['Id']}`, { Phone: null });
  const updated = anEnquiry(org, 51, {}, { event: 'updated', version: 2 });
  const again = await sink.deliver(aBatch([updated]), NEVER);
  const [after] = await org.keyed([keyOf(org, 51)], 'Id, OwnerId');
  const unknown = await org.upsert([aRecord(org, 52)], { ...SAVES, 'sforce-auto-assign': NOBODY });
  return {
    holds: isDelivered([...outcomes, ...again]) && lead?.['OwnerId'] === after?.['OwnerId'],
    learned: `the owner is ${lead?.['OwnerId']}, and ${after?.['OwnerId']} after an update; a rule that does not exist: ${summary(unknown)}`,
  };
}

async function deleteOne({ org, sink }: Proof): Promise<Found> {
  const record = aRecord(org, 61);
  const made = await org.upsert([record], SAVES);
  await org.call('DELETE', `sobjects/Lead/${made.body?.[0]?.id}`);
  const update = anEnquiry(org, 61, {}, { event: 'updated', version: 2 });
  const outcomes = await sink.deliver(aBatch([update]), NEVER);
  const count = (await org.keyed([keyOf(org, 61)])).length;
  const again = await org.upsert([record], SAVES);
  return {
    holds: isDelivered(outcomes) && count === 0,
    learned: `an update: ${kindsOf(outcomes)}, ${count} leads; an upsert by its key: ${again.body?.[0]?.success ? 'makes another lead' : summary(again)}`,
  };
}

async function convertOne({ org, sink }: Proof): Promise<Found> {
  await sink.deliver(aBatch([anEnquiry(org, 71)]), NEVER);
  const [lead] = await org.keyed([keyOf(org, 71)]);
  const converted = await org.convert(String(lead?.['Id']));
  if (!/<success>true</.test(converted.body))
    return { learned: `not asked: the lead could not be converted (HTTP ${converted.status})` };
  const change = await org.call('PATCH', `sobjects/Lead/${lead?.['Id']}`, { Title: org.run });
  const update = anEnquiry(org, 71, { client_name: 'Another Name' }, { event: 'updated', version: 2 });
  const outcomes = await sink.deliver(aBatch([update]), NEVER);
  const count = (await org.keyed([keyOf(org, 71)])).length;
  return {
    holds: isDelivered(outcomes) && count === 1,
    learned: `a change: ${summary(change)}; an update: ${kindsOf(outcomes)}, ${count} lead`,
  };
}

async function eraseOne({ org, sink }: Proof): Promise<Found> {
  const enquiry = anEnquiry(org, 81);
  const outcomes = await sink.deliver(aBatch([enquiry]), NEVER);
  const { source, leadId } = enquiry;
  const person = { leads: [{ source, leadId }], rejected: [] };
  const erased = summaryOfErasure(await sink.erase?.(person, NEVER));
  const again = summaryOfErasure(await sink.erase?.(person, NEVER));
  const count = (await org.keyed([keyOf(org, 81)])).length;
  return {
    holds:
      isDelivered(outcomes) &&
      erased.startsWith('1 lead deleted') &&
      again.startsWith('nothing deleted') &&
      count === 0,
    learned: `${erased}; again: ${again}; ${count} left`,
  };
}

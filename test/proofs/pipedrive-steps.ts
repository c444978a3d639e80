import { setTimeout as sleep } from 'node:timers/promises';
import type { Delivery } from '../../src/leads/delivery.ts';
import type { Sink } from '../../src/sinks/sink.ts';
import { aBatch, aDelivery } from '../support/scene/a-delivery.ts';
import { aLead } from '../support/scene/a-lead.ts';
import { isDelivered, kindsOf, summaryOfErasure } from './crm-outcomes.ts';
import type { Found, Step } from './crm-proof.ts';
import { type Answer, type PipedriveAccount, summary } from './pipedrive-account.ts';

const NEVER = new AbortController().signal;
/** How long the proof waits for the search to find a new person, and how often it asks, in ms. */
const SEARCH_MS = 120_000;
const SEARCH_EVERY_MS = 1_000;

/** What the steps work on. */
export interface PipedriveProof {
  readonly account: PipedriveAccount;
  /** With a lead for each lead. */
  readonly sink: Sink;
  /** With a deal for each lead. */
  readonly dealSink: Sink;
}

/** The steps, in order. */
export const pipedriveSteps: readonly Step<PipedriveProof>[] = [
  { name: 'user and limits', run: readLimits },
  { name: 'setup, twice', run: setUpTwice },
  { name: 'two enquiries of a person', run: deliverTwo },
  { name: 'the same batch again', run: deliverAgain },
  { name: 'answer to a new lead', run: readAnswer },
  { name: 'wrong values', run: tryWrongValues },
  { name: 'field that does not exist', run: tryUnknownField },
  { name: 'delay of the search', run: timeSearch },
  { name: 'merged person', run: mergeTwo },
  { name: 'archived and deleted', run: changeGone },
  { name: 'deals', run: deliverDeal },
  { name: 'erasure', run: eraseAll },
];

async function readLimits({ account }: PipedriveProof): Promise<Found> {
  const answer = await account.call('GET', '/api/v1/users/me');
  const names = ['ratelimit-limit', 'ratelimit-remaining', 'ratelimit-reset'].map((name) => `x-${name}`);
  const daily = ['limit', 'remaining'].map((name) => `x-daily-ratelimit-token-${name}`);
  const shown = [...names, ...daily].map((name) => `${name} ${answer.headers.get(name) ?? '-'}`);
  const { company_domain: domain } = answer.body?.data ?? {};
  return {
    holds: answer.status === 200,
    learned: answer.status === 200 ? `company ${domain}; ${shown.join(', ')}` : summary(answer),
  };
}

async function setUpTwice({ account, sink, dealSink }: PipedriveProof): Promise<Found> {
  await account.noteFields();
  const parts = async (one: Sink) => (await one.missingParts?.(NEVER)) ?? [];
  let made = 0;
  for (const one of [sink, dealSink])
    for (const { make } of await parts(one)) {
      await make(NEVER);
      made += 1;
    }
  const left = (await parts(sink)).length + (await parts(dealSink)).length;
  await sink.check(NEVER);
  return { holds: left === 0, learned: `${made} fields made, then ${left} missing` };
}

/** Returns the delivery of an enquiry of this run. */
function anEnquiry({ run }: PipedriveAccount, id: number, email: string): Delivery {
  return aDelivery({
    source: run.replaceAll(' ', '-'),
    leadId: BigInt(id),
    raw: aLead({ id, client_name: run, service_name: run, client_email: email }),
  });
}

async function countsOf(account: PipedriveAccount): Promise<string> {
  return `${(await account.persons()).length} person, ${(await account.records()).length} leads`;
}

function twoEnquiries(account: PipedriveAccount): readonly Delivery[] {
  return [1, 2].map((id) => anEnquiry(account, id, account.email('first')));
}

async function deliverTwo({ account, sink }: PipedriveProof): Promise<Found> {
  const outcomes = await sink.deliver(aBatch(twoEnquiries(account)), NEVER);
  const counts = await countsOf(account);
  return {
    holds: isDelivered(outcomes) && counts === '1 person, 2 leads',
    learned: `${kindsOf(outcomes)}: ${counts}`,
  };
}

async function deliverAgain({ account, sink }: PipedriveProof): Promise<Found> {
  const again = twoEnquiries(account).map((one) => ({ ...one, mayHaveArrived: true }));
  const outcomes = await sink.deliver(aBatch(again), NEVER);
  const counts = await countsOf(account);
  const [first] = outcomes;
  const url = first?.kind === 'delivered' ? first.ref?.url : undefined;
  return {
    holds: isDelivered(outcomes) && counts === '1 person, 2 leads',
    learned: `${kindsOf(outcomes)}: ${counts}; open ${url} to see whether the address is right`,
  };
}

async function readAnswer({ account }: PipedriveProof): Promise<Found> {
  const code = (await account.codeOf('leadsync key')) ?? '';
  const person_id = await account.makePerson();
  const body = { title: account.run, person_id, origin_id: 'proof:1', [code]: 'proof:1' };
  const made = await account.call('POST', '/api/v1/leads', body);
  const listed = await account.call('GET', `/api/v1/leads?person_id=${person_id}`);
  const none = await account.call('GET', `/api/v1/leads?person_id=${await account.makePerson()}`);
  const facts = [
    `new lead: HTTP ${made.status}, ${code in (made.body?.data ?? {}) ? 'has' : 'lacks'} its custom field`,
    `list: ${listed.body?.data?.[0]?.[code] === 'proof:1' ? 'has' : 'lacks'} the key, origin_id ${listed.body?.data?.[0]?.origin_id}`,
    `list without leads: data is ${JSON.stringify(none.body?.data)}`,
  ];
  return { learned: facts.join('; ') };
}

async function tryWrongValues({ account, sink }: PipedriveProof): Promise<Found> {
  const code = (await account.codeOf('leadsync key')) ?? '';
  const contact = { value: 'no address', primary: true, label: 'work' };
  const tries: Readonly<Record<string, () => Promise<Answer>>> = {
    'email that is none': () =>
      account.call('POST', '/api/v2/persons', { name: account.run, emails: [contact] }),
    'number as a text': () => deal(account, { custom_fields: { [code]: 1 } }),
    'text that is too long': () => deal(account, { custom_fields: { [code]: 'x'.repeat(300) } }),
    'unknown owner': () => deal(account, { owner_id: 999_999_999 }),
    'unknown person': () =>
      account.call('POST', '/api/v1/leads', { title: account.run, person_id: 999_999_999 }),
  };
  const facts: string[] = [];
  for (const [what, request] of Object.entries(tries)) facts.push(`${what}: ${summary(await request())}`);
  const outcomes = await sink.deliver(aBatch([anEnquiry(account, 3, 'proof@leadsync.invalid')]), NEVER);
  facts.push(`a lead with an address in .invalid: ${kindsOf(outcomes)}`);
  return { holds: isDelivered(outcomes), learned: facts.join('; ') };
}

async function deal(account: PipedriveAccount, more: object): Promise<Answer> {
  const person_id = await account.makePerson();
  return account.call('POST', '/api/v2/deals', { title: account.run, person_id, ...more });
}

async function tryUnknownField({ account }: PipedriveProof): Promise<Found> {
  const code = '0'.repeat(40);
  const body = { title: account.run, person_id: await account.makePerson(), [code]: 'x' };
  const lead = await account.call('POST', '/api/v1/leads', body);
  const made = await deal(account, { custom_fields: { [code]: 'x' } });
  return { learned: `lead: ${summary(lead)}; deal: ${summary(made)}` };
}

async function timeSearch({ account }: PipedriveProof): Promise<Found> {
  const email = account.email('search');
  await account.makePerson({ emails: [{ value: email, primary: true, label: 'work' }] });
  const startedMs = performance.now();
  const path = `/api/v2/persons/search?term=${encodeURIComponent(email)}&fields=email&exact_match=true`;
  for (;;) {
    const answer = await account.call('GET', path);
    const ms = Math.round(performance.now() - startedMs);
    if (answer.status >= 300) return { learned: summary(answer) };
    if (answer.body?.data?.items?.length > 0) return { holds: true, learned: `found after ${ms} ms` };
    if (ms > SEARCH_MS) return { holds: false, learned: `not found after ${ms} ms` };
    await sleep(SEARCH_EVERY_MS);
  }
}

async function mergeTwo({ account }: PipedriveProof): Promise<Found> {
  const [id, other] = [await account.makePerson(), await account.makePerson()];
  const before = (await account.call('GET', `/api/v2/persons/${other}`)).body?.data?.update_time;
  await sleep(SEARCH_EVERY_MS); // times are in whole seconds
  const merged = await account.call('PUT', `/api/v1/persons/${id}/merge`, { merge_with_id: other });
  if (merged.status >= 300) return { learned: `not merged: ${summary(merged)}` };
  const after = await account.call('GET', `/api/v2/persons/${other}`);
  const gone = await account.call('GET', `/api/v2/persons/${id}`);
  const isChanged = after.body?.data?.update_time !== before;
  return {
    learned: `the person that remains ${isChanged ? 'counts' : 'does not count'} as changed; the other: ${summary(gone)}`,
  };
}

async function changeGone({ account }: PipedriveProof): Promise<Found> {
  const person_id = await account.makePerson();
  const made = await account.call('POST', '/api/v1/leads', { title: account.run, person_id });
  const path = `/api/v1/leads/${made.body?.data?.id}`;
  await account.call('PATCH', path, { is_archived: true });
  const archived = await account.call('PATCH', path, { title: `${account.run} changed` });
  await account.call('DELETE', path);
  const deleted = await account.call('PATCH', path, { title: account.run });
  await account.call('DELETE', `/api/v2/persons/${person_id}`);
  const gone = await account.call('GET', `/api/v2/persons/${person_id}`);
  const facts = [
    `change of an archived lead: ${summary(archived)}`,
    `of a deleted one: ${summary(deleted)}`,
    `deleted person: ${summary(gone)}`,
  ];
  return { learned: facts.join('; ') };
}

async function deliverDeal({ account, dealSink }: PipedriveProof): Promise<Found> {
  const enquiry = anEnquiry(account, 4, account.email('deal'));
  const before = (await account.records()).length;
  const outcomes = [
    ...(await dealSink.deliver(aBatch([enquiry]), NEVER)),
    ...(await dealSink.deliver(aBatch([{ ...enquiry, mayHaveArrived: true }]), NEVER)),
  ];
  const made = (await account.records()).length - before;
  return { holds: isDelivered(outcomes) && made === 1, learned: `${kindsOf(outcomes)}: ${made} deal` };
}

async function eraseAll({ account, sink }: PipedriveProof): Promise<Found> {
  const { source, leadId } = anEnquiry(account, 5, account.email('erased'));
  const outcomes = await sink.deliver(aBatch([anEnquiry(account, 5, account.email('erased'))]), NEVER);
  const erased = summaryOfErasure(await sink.erase?.({ leads: [{ source, leadId }], rejected: [] }, NEVER));
  return {
    holds: isDelivered(outcomes) && erased === '1 lead, 1 note, 1 person deleted, 0 kept',
    learned: erased,
  };
}

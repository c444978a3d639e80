import { describe, expect, test } from 'vitest';
import type { Delivery } from '../../../src/leads/delivery.ts';
import { allTables, type OutcomeRow } from '../../stub/pipedrive/answers.ts';
import type { PipedriveStub } from '../../stub/pipedrive/pipedrive-stub.ts';
import type { RouteName } from '../../stub/pipedrive/routes.ts';
import { aDelivery } from '../../support/scene/a-delivery.ts';
import { aLead } from '../../support/scene/a-lead.ts';
import { aCompany, outcomesOf, type PipedriveInput } from './open-pipedrive.ts';

const CANARY = 'canary-7f3a';
const OFTEN = 5;

/** A request of a delivery, and what has to be true for it to be made. */
interface Step {
  readonly at: RouteName;
  readonly object: 'lead' | 'deal';
  /** What happened to the lead before; by default nothing. */
  readonly after?: 'delivered' | 'made without a note' | 'archived';
  readonly delivery?: Partial<Delivery>;
}

const AGAIN = { mayHaveArrived: true };
const UPDATE = { version: 2, event: 'updated' } as const;

const steps: Readonly<Record<string, Step>> = {
  'reading the fields of persons': { at: 'GET /personFields', object: 'lead' },
  'reading the fields of leads': { at: 'GET /dealFields', object: 'lead' },
  'searching the person': { at: 'GET /persons/search', object: 'lead' },
  'reading the persons that changed': { at: 'GET /persons', object: 'lead' },
  'making the person': { at: 'POST /persons', object: 'lead' },
  'reading the person': { at: 'GET /persons/{id}', object: 'lead', after: 'delivered', delivery: AGAIN },
  'changing the person': {
    at: 'PATCH /persons/{id}',
    object: 'lead',
    after: 'delivered',
    delivery: UPDATE,
  },
  'making the lead': { at: 'POST /leads', object: 'lead' },
  'looking for the lead': { at: 'GET /leads', object: 'lead', after: 'delivered', delivery: AGAIN },
  'looking for an archived lead': {
    at: 'GET /leads/archived',
    object: 'lead',
    after: 'archived',
    delivery: AGAIN,
  },
  'changing the lead': { at: 'PATCH /leads/{id}', object: 'lead', after: 'delivered', delivery: UPDATE },
  'making the deal': { at: 'POST /deals', object: 'deal' },
  'looking for the deal': { at: 'GET /deals', object: 'deal', after: 'delivered', delivery: AGAIN },
  'looking for an archived deal': {
    at: 'GET /deals/archived',
    object: 'deal',
    after: 'archived',
    delivery: AGAIN,
  },
  'changing the deal': { at: 'PATCH /deals/{id}', object: 'deal', after: 'delivered', delivery: UPDATE },
  'making the note': { at: 'POST /notes', object: 'lead' },
  'looking for the note': {
    at: 'GET /notes',
    object: 'lead',
    after: 'made without a note',
    delivery: AGAIN,
  },
};

const READING = allTables.filter(({ at }) => at.includes('GET /persons'));

/** The answers that an operation can give. Every one that reads can give those of the others that read. */
function rowsOf(at: RouteName): readonly OutcomeRow[] {
  const own = allTables.filter((row) => row.at.includes(at));
  return own.length > 0 ? own : READING;
}

describe.each(Object.entries(steps))('%s', (_, step) => {
  test.each(rowsOf(step.at).map((row) => [row.what, row] as const))('%s', async (_, row) => {
    const options: PipedriveInput = { object: step.object, overwrite: 'always' };
    const { stub, open } = await aCompany({ options });
    await prepare(stub, open, step);
    const isMade = row.outcome === 'delivered' && row.isGone !== true;
    for (let n = 0; n < (isMade ? 1 : OFTEN); n += 1)
      stub.answerNext(step.at, { ...row.answer, stores: isMade });
    const before = stub.requests.length;
    const delivery = aDelivery({ raw: theLead('Changed'), ...step.delivery });
    const [outcome] = await outcomesOf(open(), [delivery]);
    expect(stub.requests.slice(before).map(({ route }) => route)).toContain(step.at);
    expect(outcome?.kind).toBe(row.outcome);
    if (outcome?.kind === 'unavailable')
      expect(outcome.retryAfterMs).toBe(row.waitSeconds === undefined ? undefined : row.waitSeconds * 1_000);
    const reason = outcome && 'reason' in outcome ? outcome.reason : '';
    const remark = outcome && 'remark' in outcome ? outcome.remark : '';
    if (outcome?.kind !== 'delivered') expect(reason).toMatch(/^[A-Zh`].*\. .*[A-Z`l].*\.$/); // what happened, and what to do
    if (row.isGone) expect(remark).toMatch(/^[A-Z].*\.$/);
    expect(`${reason}${remark ?? ''}`).not.toContain(CANARY);
    expect(`${reason}${remark ?? ''}`).not.toContain(stub.token);

    stub.behave();
    await outcomesOf(open(), [aDelivery({ raw: theLead('Changed'), mayHaveArrived: true })]);
    const { persons, leads, deals } = stub.records;
    expect([persons.length, leads.length + deals.length]).toEqual([1, 1]);
    if (!isMade) expect(stub.records.notes).toHaveLength(1);
  });
});

async function prepare(
  stub: PipedriveStub,
  open: Awaited<ReturnType<typeof aCompany>>['open'],
  { after, object }: Step,
): Promise<void> {
  if (after === undefined) return;
  if (after === 'made without a note') stub.misbehave({ at: 'POST /notes', fault: 'server-error', times: 1 });
  await outcomesOf(open(), [aDelivery({ raw: theLead('First') })]);
  const [record] = object === 'lead' ? stub.records.leads : stub.records.deals;
  if (after === 'archived') stub.archive(`${object}s`, record?.id ?? '');
}

function theLead(service: string): string {
  return aLead({
    client_name: `${CANARY} ${service}`,
    client_email: `${CANARY}@example.com`,
    client_phone_number: CANARY,
    service_name: `${CANARY} ${service}`,
  });
}

import { describe, expect, test } from 'vitest';
import type { Delivery } from '../../../src/leads/delivery.ts';
import type { Outcome } from '../../../src/leads/outcome.ts';
import type { AnsweredInput } from '../../stub/hubspot/answers.ts';
import type { NewProperty } from '../../stub/hubspot/properties.ts';
import { aDelivery } from '../../support/scene/a-delivery.ts';
import { aLead } from '../../support/scene/a-lead.ts';
import { anAccount, outcomesOf } from './open-hubspot.ts';

const DELIVERED = { kind: 'delivered' };

/** An error of one record that does not say of which. */
function untracedFault(name: string, error: string): object {
  const message = `Property values were not valid: ${JSON.stringify([{ isValid: false, message: 'x', error, name }])}`;
  return { status: 'error', category: 'VALIDATION_ERROR', message, context: {} };
}

describe('links', () => {
  interface LinkInput {
    readonly from: { readonly id: string };
    readonly to: { readonly id: string };
  }
  const type = (associationTypeId: number) => ({ associationSpec: { associationTypeId } });

  test.each([
    ['in both directions', (link: LinkInput) => [link, { ...back(link), ...type(3) }]],
    ['from the deal only', (link: LinkInput) => [{ ...back(link), ...type(3) }]],
  ])('a link that an answer does not name is not made, though its ids occur (named %s)', async (_, named) => {
    const { stub, open } = await anAccount();
    stub.addRecord('deals', { dealname: 'Old' }); // the first contact has the id of this deal, the second that of the first new deal
    const answer = (inputs: readonly AnsweredInput[]) => {
      const [, ...kept] = inputs as unknown as readonly LinkInput[];
      return {
        status: 'COMPLETE',
        results: kept.flatMap(named),
        numErrors: 1,
        errors: [{ status: 'error' }],
      };
    };
    stub.misbehave({ at: 'batch/associate', answer: { status: 207, body: answer } });
    const outcomes = await outcomesOf(open(), [enquiry(1), enquiry(2)]);
    expect(stub.records.contacts[1]?.id).toBe(stub.records.deals[1]?.id);
    expect(outcomes).toMatchObject([{ kind: 'unavailable', mayHaveArrived: true }, DELIVERED]);
    expect(await outcomesOf(open(), [enquiry(1)])).toMatchObject([DELIVERED]);
    const [first] = stub.records.contacts;
    expect(stub.associated('contacts', first?.id ?? '', 'deals')).toEqual([stub.records.deals[1]?.id]);
  });

  function back({ from, to }: LinkInput): LinkInput {
    return { from: to, to: from };
  }
});

describe('errors that do not name their record', () => {
  test.each([
    ['deals/batch/upsert', 'dealtype'],
    ['contacts/batch/create', 'jobtitle'],
  ])('the only error of a request for one record (%s) refuses it', async (at, property) => {
    const { stub, open } = await anAccount();
    const body = {
      status: 'COMPLETE',
      results: [],
      numErrors: 1,
      errors: [untracedFault(property, 'INVALID_OPTION')],
    };
    stub.misbehave({ at, answer: { status: 207, body } });
    const [outcome] = await outcomesOf(open(), [enquiry(1)]);
    expect(outcome).toMatchObject({ kind: 'refused', reason: expect.stringContaining(`\`${property}\``) });
  });

  test.each(['deal', 'lead'] as const)(
    'in a request for several records, each is refused or delivered by itself (object: %s)',
    async (object) => {
      const field = object === 'deal' ? 'deal.amount' : 'lead.hs_lead_name';
      const { stub, open } = await anAccount(
        { options: { object }, fields: object === 'deal' ? { [field]: 'answer("bedrooms")' } : {} },
        { tracedResults: false },
      );
      if (object === 'lead') stub.setRule('leads', 'hs_lead_name', (name) => !name.includes('many'));
      const leads = [1, 2, 3, 4, 5].map((id) =>
        enquiry(id, { ...answering(id % 2 ? '3' : 'many'), client_name: id % 2 ? 'Anna' : 'many' }),
      );
      const outcomes = await outcomesOf(open(), leads);
      expect(outcomes.map(({ kind }) => kind)).toEqual([
        'delivered',
        'refused',
        'delivered',
        'refused',
        'delivered',
      ]);
      expect(stub.records[`${object}s`]).toHaveLength(3);
    },
  );

  test('a property that does not exist holds all leads, without a request for each', async () => {
    const { stub, open } = await anAccount({}, { tracedResults: false });
    stub.deleteProperty('deals', 'leadsync_service');
    const before = stub.requestCount;
    const outcomes = await outcomesOf(
      open(),
      [1, 2, 3, 4].map((id) => enquiry(id)),
    );
    for (const outcome of outcomes)
      expect([outcome.kind, reasonOf(outcome)]).toEqual([
        'unavailable',
        expect.stringContaining('cannot write `leadsync_service`'),
      ]);
    expect(stub.requestCount - before).toBeLessThan(7);
  });
});

describe('unique values of other properties', () => {
  const unique = (name: string): NewProperty => ({
    name,
    label: name,
    type: 'string',
    fieldType: 'text',
    hasUniqueValue: true,
    groupName: 'leadsync',
  });

  test.each([
    ['deals', 'deal.job_number'],
    ['contacts', 'job_number'],
  ] as const)(
    'one of %s that two leads share refuses the second alone, and names the property',
    async (object, field) => {
      const { stub, open } = await anAccount({ fields: { [field]: 'answer("bedrooms")' } });
      stub.addProperty(object, unique('job_number'));
      await outcomesOf(open(), [enquiry(1, answering('7'))]);
      const outcomes = await outcomesOf(open(), [enquiry(2, answering('7')), enquiry(3, answering('8'))]);
      expect(outcomes).toMatchObject([{ kind: 'refused' }, DELIVERED]);
      expect(reasonOf(outcomes[0])).toContain('does not accept `job_number` (CONFLICTING_UNIQUE_VALUE)');
    },
  );

  test('a conflict that names its property in the text alone is that of the property', async () => {
    const { stub, open } = await anAccount();
    const message =
      'Cannot set PropertyValueCoordinates{portalId=1, objectTypeId=0-3, objectId=2, propertyName=job_number, value=7} on 2. 3 already has that value.';
    const body = { status: 'error', category: 'VALIDATION_ERROR', message };
    stub.misbehave({ at: 'deals/batch/upsert', answer: { status: 400, body } });
    const [outcome] = await outcomesOf(open(), [enquiry(1)]);
    expect(outcome?.kind).toBe('refused');
    expect(reasonOf(outcome)).toContain('`job_number`');
  });
});

describe('answers that are too long', () => {
  const LONG = 'ä'.repeat(65_000);

  test.each(['deal', 'lead'] as const)(
    'leads whose answers exceed 8 MiB arrive once (object: %s)',
    async (object) => {
      const { stub, open } = await anAccount({ options: { object } });
      const leads = Array.from({ length: 100 }, (_, at) => enquiry(at + 1, answering(LONG)));
      const sink = open();
      await outcomesOf(sink, leads);
      const kinds = (await outcomesOf(sink, leads)).map(({ kind }) => kind);
      expect(new Set(kinds)).toEqual(new Set(['delivered']));
      expect([stub.records.contacts.length, stub.records[`${object}s`].length]).toEqual([100, 100]);
    },
  );
});

function enquiry(id: number, fields: Readonly<Record<string, unknown>> = {}): Delivery {
  const raw = aLead({ id, client_email: `person${id}@example.com`, ...fields });
  return aDelivery({ leadId: BigInt(id), raw });
}

function answering(answer: string) {
  return { service_question_answers: [{ question: 'Bedrooms?', slug: 'bedrooms', answer }] };
}

function reasonOf(outcome: Outcome | undefined): string {
  return outcome && 'reason' in outcome ? outcome.reason : '';
}

import { describe, expect, onTestFinished, test } from 'vitest';
import {
  type AnsweredInput,
  type AnswerName,
  allTables,
  type DocumentedAnswer,
} from '../../stub/hubspot/answers.ts';
import { type HubSpotStub, startHubSpotStub } from '../../stub/hubspot/hubspot-stub.ts';
import { aDelivery } from '../../support/scene/a-delivery.ts';
import { aLead } from '../../support/scene/a-lead.ts';
import { openHubSpot, outcomesOf } from './open-hubspot.ts';

const CANARY = 'canary-7f3a';
const FOR_EVER = 1_000;
/** The addresses of the leads, in lower case. */
const ADDRESSES = [1, 2].map((id) => `${CANARY}-${id}@example.com`).join(';');

/** A request of a delivery, and what has to be true for it to be made. */
interface Step {
  readonly at: string;
  readonly object: 'deal' | 'lead';
  readonly hasEmail?: false;
  /** What HubSpot has already. */
  readonly has?: 'contacts' | 'records';
}

const steps: Readonly<Record<string, Step>> = {
  'reading contacts by email address': { at: 'contacts/batch/read', object: 'deal' },
  'reading contacts by key': { at: 'contacts/batch/read', object: 'deal', hasEmail: false },
  'creating contacts': { at: 'contacts/batch/create', object: 'deal' },
  'updating contacts': { at: 'contacts/batch/update', object: 'deal', has: 'contacts' },
  'upserting contacts': { at: 'contacts/batch/upsert', object: 'deal', hasEmail: false },
  'reading deals': { at: 'deals/batch/read', object: 'deal' },
  'updating deals': { at: 'deals/batch/update', object: 'deal', has: 'records' },
  'upserting deals': { at: 'deals/batch/upsert', object: 'deal' },
  'linking deals': { at: 'batch/associate', object: 'deal' },
  'reading leads': { at: 'leads/batch/read', object: 'lead' },
  'creating leads': { at: 'leads/batch/create', object: 'lead' },
};

/** What becomes of two leads. HubSpot blames the first if it blames one of them. */
type Fates = readonly ('delivered' | 'refused' | 'unavailable')[];

const FATES: Readonly<Record<DocumentedAnswer['outcome'], Fates>> = {
  delivered: ['delivered', 'delivered'],
  mixed: ['refused', 'delivered'],
  refused: ['refused', 'refused'],
  // Only the creation of a contact can find the record that exists; elsewhere, another program has just created it.
  existing: ['unavailable', 'unavailable'],
  unavailable: ['unavailable', 'unavailable'],
};

function fatesOf({ at }: Step, name: AnswerName, { status, outcome }: DocumentedAnswer): Fates {
  const isOfRecords = status < 400 && outcome !== 'unavailable';
  const isShort = name === 'no-results' || name === 'fewer-results';
  if (at.endsWith('read')) return outcome !== 'unavailable' || isShort ? FATES.delivered : FATES.unavailable;
  if (at.endsWith('associate')) return isOfRecords ? FATES.unavailable : FATES[outcome];
  const isOfEmail = name === 'invalid-email' || name === 'every-input-refused' || outcome === 'mixed';
  if (isOfEmail && /contacts.batch.(create|update)/.test(at)) return FATES.delivered; // the contact goes by its key
  if (at === 'contacts/batch/create' && outcome === 'existing') return FATES.delivered;
  return name === 'fewer-results' ? ['unavailable', 'delivered'] : FATES[outcome];
}

describe.each(Object.entries(steps))('%s', (_, step) => {
  test.each(allTables)('HubSpot answers: %s', async (name, answer) => {
    const stub = await startHubSpotStub();
    const sink = openHubSpot(stub, { options: { object: step.object, overwrite: 'always' } });
    onTestFinished(() => Promise.all([sink.close(), stub.close()]).then(() => undefined));
    stub.misbehave({ answer: name, at: step.at, times: answer.status >= 400 ? FOR_EVER : 1 });
    answerTheOthers(stub, step);
    const before = stub.requestCount;
    const outcomes = await outcomesOf(
      sink,
      [1, 2].map((id) => aDelivery({ leadId: BigInt(id), raw: theLead(id, step), event: eventOf(step) })),
    );
    expect(stub.requests.slice(before).map(({ path }) => path)).toContainEqual(
      expect.stringContaining(step.at),
    );
    expect(outcomes.map(({ kind }) => kind)).toEqual(fatesOf(step, name, answer));
    for (const outcome of outcomes) {
      if (outcome.kind === 'unavailable') expect(outcome.retryAfterMs).toBe(answer.waitMs);
      const [reason, remark] = [
        'reason' in outcome ? outcome.reason : '',
        'remark' in outcome ? outcome.remark : '',
      ];
      const said = `${reason}${remark ?? ''}`;
      if (reason !== '') expect(reason).toMatch(/^[A-Z`h].*\. [A-Z`l].*\.$/); // what happened, and what to do
      if (remark) expect(remark).toMatch(/^[A-Z].*\.$/);
      expect(said).not.toContain(CANARY);
      expect(said).not.toContain(stub.token);
    }
  });
});

/** Answers every request as HubSpot does that has nothing but what the step needs. */
function answerTheOthers(stub: HubSpotStub, { has }: Step): void {
  const found = (inputs: readonly AnsweredInput[], isHeld: boolean) =>
    inputs.flatMap(({ id = '' }) => {
      const isId = /^\d+$/.test(id);
      if (!isId && !isHeld) return [];
      return [
        {
          id: isId ? id : `9${id.replace(/\D/g, '')}`,
          properties: isId ? { hs_additional_emails: ADDRESSES } : { email: id, leadsync_key: id },
        },
      ];
    });
  const answer = (at: string, results: (inputs: readonly AnsweredInput[]) => readonly object[]) =>
    stub.misbehave({
      answer: { status: 200, body: (inputs) => ({ status: 'COMPLETE', results: results(inputs) }) },
      at,
      times: FOR_EVER,
    });
  answer('contacts/batch/read', (inputs) => found(inputs, has === 'contacts'));
  answer('/batch/read', (inputs) => found(inputs, has === 'records'));
  answer('/batch/associate', (inputs) => inputs);
  for (const verb of ['create', 'update', 'upsert'])
    stub.misbehave({ answer: 'upserted', at: `/batch/${verb}`, times: FOR_EVER });
}

function theLead(id: number, { hasEmail }: Step): string {
  const email = hasEmail === false ? 'none' : `${CANARY}-${id}@example.com`;
  return aLead({ id, client_name: `${CANARY} ${id}`, client_email: email, client_phone_number: CANARY });
}

/** A record that HubSpot has is changed by an update only, if it may be overwritten. */
function eventOf({ at }: Step) {
  return at === 'deals/batch/update' ? 'updated' : 'created';
}

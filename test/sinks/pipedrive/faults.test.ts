import { describe, expect, test } from 'vitest';
import type { Delivery } from '../../../src/leads/delivery.ts';
import { mayHaveArrived, type Outcome } from '../../../src/leads/outcome.ts';
import { LeaseOver } from '../../../src/sinks/sink-unavailable.ts';
import type { FaultName } from '../../stub/pipedrive/faults.ts';
import type { PipedriveStub } from '../../stub/pipedrive/pipedrive-stub.ts';
import { aDelivery } from '../../support/scene/a-delivery.ts';
import { aLead } from '../../support/scene/a-lead.ts';
import { until } from '../../support/time/until.ts';
import { aCompany, beforeRequest, outcomesOf, setUp } from './open-pipedrive.ts';
import { WaitingClock } from './waiting-clock.ts';

type Object = 'lead' | 'deal' | 'none';

const DELIVERED = { kind: 'delivered' };
const WAITING = { kind: 'unavailable' };

describe('changes by users while leads are delivered', () => {
  test('a token that is revoked during a batch delays the leads until there is another', async () => {
    for (const at of await requestsOfADelivery('lead')) {
      const { stub, open } = await aCompany();
      const attempt = beforeRequest(at, () => {
        stub.settings.tokenRevoked = true;
      });
      const outcomes = await outcomesOf(open(), leads(2), { attempt });
      expect(outcomes.at(-1)).toMatchObject(WAITING);
      expect(reasonOf(outcomes.at(-1))).toMatch(/does not accept the token\. Put a valid API token/);
      stub.settings.tokenRevoked = false;
      expect(await outcomesOf(open(), repeated(leads(2), outcomes))).toMatchObject([DELIVERED, DELIVERED]);
      expectEachOnce(stub, 2);
    }
  });

  test.each([
    ['person', 'leadsync key'],
    ['person', 'leadsync enquiries'],
    ['person', 'leadsync email as typed'],
    ['deal', 'leadsync key'],
    ['deal', 'leadsync service'],
  ] as const)(
    'the deleted field of %ss "%s" delays the leads until it is created again',
    async (owner, name) => {
      for (const object of ['lead', 'deal'] as const) {
        const { stub, open } = await aCompany({ options: { object } });
        const sink = open();
        await outcomesOf(sink, leads(1));
        const code = stub.fields[owner].find(({ field_name }) => field_name === name)?.field_code ?? '';
        stub.deleteField(owner, code);
        const others = leads(3).slice(1);
        const outcomes = await outcomesOf(sink, others);
        expect(outcomes).toMatchObject([WAITING, WAITING]);
        const field = name.replaceAll(' ', '_');
        const shown = owner === 'person' ? field : `${object}.${field}`;
        expect(reasonOf(outcomes[0])).toBe(
          `Pipedrive no longer has \`${shown}\`. \`leadsync setup sink\` shows what is missing; \`--yes\` creates it.`,
        );
        const again = await outcomesOf(sink, others);
        expect(reasonOf(again[0])).toMatch(/has no field `[\w.]+`\. `leadsync setup sink --yes`/);
        await setUp(sink);
        expect(await outcomesOf(sink, repeated(others, again))).toMatchObject([DELIVERED, DELIVERED]);
        expectEachOnce(stub, 3, object);
      }
    },
  );

  test('leadsync notices that a company stores leads without a deleted field, and creates no lead twice', async () => {
    const { stub, open } = await aCompany({}, { unknownLeadField: 'ignore' });
    const sink = open();
    await outcomesOf(sink, leads(1));
    const key = stub.fields.deal.find(({ field_name }) => field_name === 'leadsync key')?.field_code ?? '';
    stub.deleteField('deal', key);
    expect(await outcomesOf(sink, [leads(2)[1] as Delivery])).toMatchObject([
      {
        ...DELIVERED,
        remark: 'Pipedrive stored the lead without `lead.leadsync_key`: the field was deleted.',
      },
    ]);
    const [outcome] = await outcomesOf(sink, [leads(3)[2] as Delivery]);
    expect(reasonOf(outcome)).toMatch(/has no field `lead.leadsync_key`\. `leadsync setup sink --yes`/);
    await setUp(sink);
    const again = leads(3).map((lead) => ({ ...lead, mayHaveArrived: true }));
    expect(await outcomesOf(open(), again)).toMatchObject([DELIVERED, DELIVERED, DELIVERED]);
    expect(stub.records.leads.map(({ origin_id }) => origin_id)).toEqual(['main:1', 'main:2', 'main:3']);
  });

  test.each(['lead', 'deal'] as const)('a deleted option refuses only the %s that has it', async (object) => {
    const { stub, open } = await aCompany({
      options: { object },
      fields: { [`${object}.size`]: 'lead.client_name.startsWith("Second") ? "Huge" : "small"' },
    });
    const options = [{ label: 'Small' }, { label: 'Large' }];
    stub.addField('deal', { field_name: 'Size', field_type: 'enum', options });
    const sink = open();
    const outcomes = await outcomesOf(sink, leads(3));
    expect(outcomes).toMatchObject([DELIVERED, { kind: 'refused' }, DELIVERED]);
    expect(reasonOf(outcomes[1])).toMatch(
      /has no option of `(lead|deal)\.size` that matches the value\. Add the option in Pipedrive, or correct `fields`, then run `leadsync retry`\.$/,
    );
    expect(stub.records.persons).toHaveLength(2);
    const code = stub.fields.deal.at(-1)?.field_code ?? '';
    stub.deleteField('deal', code);
    stub.addField('deal', {
      field_name: 'Size',
      field_type: 'enum',
      options: [...options, { label: 'Huge' }],
    });
    expect(await outcomesOf(sink, leads(3))).toMatchObject([DELIVERED, DELIVERED, DELIVERED]);
    expectEachOnce(stub, 3, object);
  });

  test('a deleted option that every lead has delays them all until the mapping is corrected', async () => {
    const { stub, open } = await aCompany({ fields: { 'lead.size': '"Huge"' } });
    stub.addField('deal', { field_name: 'Size', field_type: 'enum', options: [{ label: 'Small' }] });
    const outcomes = await outcomesOf(open(), leads(2));
    expect(outcomes).toMatchObject([WAITING, WAITING]);
    expect(reasonOf(outcomes[0])).toMatch(
      /no option of `lead\.size` that matches the value.*`leadsync fields sink`/,
    );
    expect(await outcomesOf(open({ fields: {} }), leads(2))).toMatchObject([DELIVERED, DELIVERED]);
    expectEachOnce(stub, 2);
  });

  test.each([0, 600_000])(
    'leads of a merged person go to the other person (search lag %d ms)',
    async (lag) => {
      const clock = new WaitingClock();
      const { stub, open } = await aCompany({ parts: { clock } }, { clock, searchLagMs: lag });
      const sink = open();
      await outcomesOf(sink, leads(1));
      const [merged] = stub.records.persons;
      const winner = await addPerson(stub, 'person1@example.com');
      stub.remove('persons', merged?.id ?? 0);
      const second = aDelivery({ leadId: 2n, raw: theLead(2, 'Second', 'person1@example.com') });
      const outcomes = await outcomesOf(sink, [second]);
      expect(outcomes).toMatchObject([DELIVERED]);
      expect(stub.records.persons.filter(({ is_deleted }) => !is_deleted).map(({ id }) => id)).toEqual([
        winner,
      ]);
      expect(stub.records.leads.at(-1)?.person_id).toBe(winner);
    },
  );

  test('after a read that fails once the person is written, the lead may have arrived', async () => {
    const { stub, open } = await aCompany({ fields: { 'lead.owner_id': 'int("999999")' } });
    await addPerson(stub, 'person1@example.com');
    const isRefused = () => {
      const { method, path } = stub.requests.at(-1) ?? {};
      return method === 'POST' && path?.endsWith('/leads') === true;
    };
    // After Pipedrive has refused the lead, leadsync looks whether its person was deleted.
    const confirmLease = () => isRefused() && stub.misbehave({ fault: 'cut', times: 1 });
    const attempt = { timeLeftMs: () => Number.POSITIVE_INFINITY, confirmLease: () => void confirmLease() };
    const outcomes = await outcomesOf(open(), leads(1), { attempt });
    expect(stub.requests.at(-1)).toMatchObject({ method: 'GET' });
    expect(stub.requests.some(({ method }) => method === 'PATCH')).toBe(true);
    expect(outcomes).toMatchObject([{ kind: 'unavailable' }]);
    expect(outcomes.map(mayHaveArrived)).toEqual([true]);
  });

  test('leadsync searches again for a person who is deleted between two calls, and the lead arrives once', async () => {
    for (const at of await requestsOfADelivery('lead', 'known')) {
      const clock = new WaitingClock();
      const { stub, open } = await aCompany({ parts: { clock } }, { clock, searchLagMs: 60_000 });
      await addPerson(stub, 'person1@example.com');
      clock.passedMs += 3_600_000;
      const sink = open();
      const [person] = stub.records.persons;
      const attempt = beforeRequest(at, () => stub.remove('persons', person?.id ?? 0));
      const outcomes = await outcomesOf(sink, leads(1), { attempt });
      expect(outcomes[0]?.kind).not.toBe('refused');
      clock.passedMs += 3_600_000;
      if (outcomes[0]?.kind !== 'delivered')
        expect(await outcomesOf(sink, repeated(leads(1), outcomes))).toMatchObject([DELIVERED]);
      expect(stub.records.leads).toHaveLength(1);
      expect(stub.records.persons.filter(({ is_deleted }) => !is_deleted).length).toBeLessThanOrEqual(1);
    }
  });

  test('a plan without space for leads delays them', async () => {
    const { stub, open } = await aCompany();
    stub.settings.leadsLeft = 1;
    const outcomes = await outcomesOf(open(), leads(2));
    expect(outcomes).toMatchObject([DELIVERED, WAITING]);
    expect(reasonOf(outcomes[1])).toMatch(/has no room for more \(feature_capping_leads_limit\)\. Delete/);
    stub.settings.leadsLeft = 10;
    expect(await outcomesOf(open(), leads(2))).toMatchObject([DELIVERED, DELIVERED]);
    expectEachOnce(stub, 2);
  });
});

describe('answers of Pipedrive', () => {
  test('a search with its results in another order finds the same person', async () => {
    const { stub, open } = await aCompany();
    const [first, second] = [
      await addPerson(stub, 'person1@example.com'),
      await addPerson(stub, 'person1@example.com'),
    ];
    const item = (id: number) => ({ item: { id, emails: ['other@example.com', 'Person1@example.com'] } });
    const body = { success: true, data: { items: [item(second), item(first)] } };
    stub.answerNext('GET /persons/search', { status: 200, body });
    expect(await outcomesOf(open(), leads(1))).toMatchObject([DELIVERED]);
    expect(stub.records.leads.map(({ person_id }) => person_id)).toEqual([first]);
  });

  test('a search that fails creates no second person', async () => {
    const { stub, open } = await aCompany();
    await outcomesOf(open(), leads(1));
    for (const fault of ['no-data', 'html', 'server-error', 'cut', 'no-success'] as const) {
      stub.misbehave({ at: 'GET /persons/search', fault, times: 1 });
      expect(await outcomesOf(open(), leads(1))).toMatchObject([WAITING]);
    }
    expect(await outcomesOf(open(), leads(1))).toMatchObject([DELIVERED]);
    expectEachOnce(stub, 1);
  });

  test('leadsync finds the persons of the last minutes if the clock of Pipedrive is behind', async () => {
    const clock = new WaitingClock();
    const { stub, open } = await aCompany({ parts: { clock } }, { clock, searchLagMs: 600_000 });
    await outcomesOf(open(), leads(1));
    const late = new WaitingClock(new Date(clock.now().getTime() + 240_000));
    const second = aDelivery({ leadId: 2n, raw: theLead(2, 'Second', 'person1@example.com') });
    expect(await outcomesOf(open({ parts: { clock: late } }), [second])).toMatchObject([DELIVERED]);
    expect([stub.records.persons.length, stub.records.leads.length]).toEqual([1, 2]);
  });
});

describe.each(['lead', 'deal', 'none'] as const)('with a %s per lead', (object) => {
  test.each([
    'cut-after-storing',
    'half-after-storing',
    'server-error-after-storing',
    'bad-gateway-after-storing',
    'html-after-storing',
    'nothing-after-storing',
    'no-data-after-storing',
    'no-success-after-storing',
    'cut',
    'unavailable',
  ] as const satisfies FaultName[])(
    'if the answer to any request of a delivery is lost, a repeat creates nothing twice, even in another process while the search lags: %s',
    async (fault) => {
      for (const at of await requestsOfADelivery(object)) {
        const clock = new WaitingClock();
        const { stub, open } = await aCompany(
          { options: { object }, parts: { clock } },
          { clock, searchLagMs: 300_000 },
        );
        const attempt = beforeRequest(at, () => stub.misbehave({ fault, times: 1 }));
        const sink = open();
        const outcomes = await outcomesOf(sink, leads(2), { attempt });
        expect(outcomes.map(({ kind }) => kind)).toContain('unavailable');
        const again = open(); // an old sink knows what it made, a new process does not
        expect(await outcomesOf(at % 2 === 0 ? sink : again, repeated(leads(2), outcomes))).toMatchObject([
          DELIVERED,
          DELIVERED,
        ]);
        expectEachOnce(stub, 2, object);
      }
    },
  );

  test.each([true, false])(
    'if the attempt ends during any of its requests (stored: %s), a repeat creates nothing twice',
    async (stores) => {
      for (const at of await requestsOfADelivery(object)) {
        const clock = new WaitingClock();
        const { stub, open } = await aCompany(
          { options: { object }, parts: { clock } },
          { clock, searchLagMs: 300_000 },
        );
        const abort = new AbortController();
        const sink = open();
        let count = Number.POSITIVE_INFINITY;
        const attempt = beforeRequest(at, () => {
          count = stub.requests.length;
          stub.misbehave({ fault: stores ? 'silent-after-storing' : 'silent', times: 1 });
        });
        const ended = outcomesOf(sink, leads(2), { attempt, signal: abort.signal });
        await until('Pipedrive has the request', () => stub.requests.length > count);
        abort.abort();
        const outcomes = await ended;
        expect(outcomes.map(({ kind }) => kind)).toContain('unavailable');
        await sink.close();
        // The process was killed, so that leadsync does not know of any lead of the batch.
        const killed = leads(2).map((lead) => ({ ...lead, mayHaveArrived: true }));
        expect(await outcomesOf(open(), killed)).toMatchObject([DELIVERED, DELIVERED]);
        expectEachOnce(stub, 2, object);
      }
    },
  );

  test('a request of a delivery is not sent after the lease has ended', async () => {
    for (const at of await requestsOfADelivery(object)) {
      const { stub, open } = await aCompany({ options: { object } });
      const before = stub.requests.length;
      const attempt = beforeRequest(at, () => {
        throw new LeaseOver();
      });
      const outcomes = await outcomesOf(open(), leads(2), { attempt });
      expect(outcomes.map(({ kind }) => kind)).toContain('unavailable');
      expect(stub.requests.length - before).toBe(at - 1);
      expect(await outcomesOf(open(), repeated(leads(2), outcomes))).toMatchObject([DELIVERED, DELIVERED]);
      expectEachOnce(stub, 2, object);
    }
  });
  test('if the lease ends after leadsync created a person whom the search does not find yet, the lead arrives once', async () => {
    for (const at of await requestsOfADelivery(object)) {
      const clock = new WaitingClock();
      const { stub, open } = await aCompany(
        { options: { object }, parts: { clock } },
        { clock, searchLagMs: 60_000 },
      );
      const attempt = beforeRequest(at, () => {
        throw new LeaseOver();
      });
      const outcomes = await outcomesOf(open(), leads(2), { attempt });
      expect(await outcomesOf(open(), repeated(leads(2), outcomes))).toMatchObject([DELIVERED, DELIVERED]);
      expectEachOnce(stub, 2, object);
    }
  });
});

/** Returns the numbers of the requests that a delivery of two new leads takes, or of one of a known person, from 1. */
async function requestsOfADelivery(object: Object, who: 'new' | 'known' = 'new'): Promise<readonly number[]> {
  const { stub, open } = await aCompany({ options: { object } });
  if (who === 'known') await addPerson(stub, 'person1@example.com');
  const before = stub.requests.length;
  await outcomesOf(open(), leads(who === 'known' ? 1 : 2));
  return Array.from({ length: stub.requests.length - before }, (_, index) => index + 1);
}

const NAMES = ['First', 'Second', 'Third'];

/** Returns leads of different persons. */
function leads(count: number): readonly Delivery[] {
  return NAMES.slice(0, count).map((name, index) => {
    const id = index + 1;
    return aDelivery({ leadId: BigInt(id), raw: theLead(id, name, `person${id}@example.com`) });
  });
}

function theLead(id: number, name: string, email: string): string {
  return aLead({ id, client_name: `${name} Person`, client_email: email });
}

/** Returns deliveries as the ledger has them after an attempt with these outcomes. */
function repeated(deliveries: readonly Delivery[], outcomes: readonly Outcome[]): readonly Delivery[] {
  return deliveries.map((delivery, at) => {
    const outcome = outcomes[at];
    return { ...delivery, mayHaveArrived: outcome !== undefined && mayHaveArrived(outcome) };
  });
}

function reasonOf(outcome: Outcome | undefined): string {
  return outcome && 'reason' in outcome ? outcome.reason : '';
}

/** Creates a person as a user of Pipedrive would. Returns the id. */
async function addPerson({ url, token }: PipedriveStub, email: string): Promise<number> {
  const answer = await fetch(`${url}/api/v2/persons`, {
    method: 'POST',
    headers: { 'x-api-token': token, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'By hand', emails: [{ value: email, primary: true, label: 'work' }] }),
  });
  const { data } = (await answer.json()) as { data: { id: number } };
  return data.id;
}

/** Expects one person per lead, and one record and one note that are linked. */
function expectEachOnce(stub: PipedriveStub, count: number, object: Object = 'lead'): void {
  const { persons, notes } = stub.records;
  const ids = persons.map(({ id }) => id);
  expect(ids).toHaveLength(count);
  expect(notes).toHaveLength(count);
  if (object === 'none') {
    expect(notes.map(({ person_id }) => person_id).sort()).toEqual(ids);
    return;
  }
  const records = object === 'lead' ? stub.records.leads : stub.records.deals;
  const code = stub.fields.deal.find(({ field_name }) => field_name === 'leadsync key')?.field_code ?? '';
  expect(records.map(({ person_id }) => person_id)).toEqual(ids);
  expect(new Set(records.map(({ custom_fields: values }) => values[code])).size).toBe(count);
  const noted = notes.map(({ lead_id, deal_id }) => (object === 'lead' ? lead_id : deal_id));
  expect(noted.sort()).toEqual(records.map(({ id }) => id).sort());
}

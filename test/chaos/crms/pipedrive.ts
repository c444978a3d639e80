import { type PipedriveStub, startPipedriveStub } from '../../stub/pipedrive/pipedrive-stub.ts';
import { type Crm, type HeldRecords, repeated } from './crm.ts';

type Request = Parameters<PipedriveStub['misbehave']>[0];

/** What the company can do wrong, in words. */
export const TROUBLES: Readonly<Record<string, Request>> = {
  'breaks the connection': { fault: 'cut' },
  'stores and breaks the connection': { fault: 'cut-after-storing' },
  'stores persons and breaks the connection': { fault: 'cut-after-storing', at: 'POST /persons' },
  'stores leads and breaks the connection': { fault: 'cut-after-storing', at: 'POST /leads' },
  'stores notes and breaks the connection': { fault: 'cut-after-storing', at: 'POST /notes' },
  'stores leads and sends half of an answer': { fault: 'half-after-storing', at: 'POST /leads' },
  'stores leads and names none': { fault: 'no-data-after-storing', at: 'POST /leads' },
  'stores persons and says 502': { fault: 'bad-gateway-after-storing', at: 'POST /persons' },
  'stores leads and shows a page': { fault: 'html-after-storing', at: 'POST /leads' },
  'says that there are too many requests': { fault: 'too-many-requests' },
  'shows a page': { fault: 'html' },
  'says 500': { fault: 'server-error' },
  'never answers': { fault: 'silent-after-storing' },
};

/** Starts a company at Pipedrive, which makes a person and a lead of each lead. Its limits of a few requests in two seconds count. */
export async function openPipedrive(): Promise<Crm> {
  const stub = await startPipedriveStub({
    limits: { plan: 'ultimate', seats: 1_000, dailyHeaders: true },
    searchLagMs: 1_000,
  });
  return {
    sink: 'pipedrive',
    oneIn: 50,
    options: { type: 'pipedrive', domain: stub.url, token: stub.token },
    textField: 'lead.title',
    misbehave: (trouble) => stub.misbehave(TROUBLES[trouble] as Request),
    behave: () => stub.behave(),
    held: () => heldBy(stub),
    close: () => stub.close(),
  };
}

function heldBy({ records, fields }: PipedriveStub): HeldRecords {
  const code = fields.deal.find(({ field_name: name }) => name === 'leadsync key')?.field_code ?? '';
  const keys = records.leads.map(({ custom_fields: values }) => String(values[code]));
  const persons = records.persons.filter((person) => !person.is_deleted);
  const emails = persons.flatMap((person) => person.emails.map(({ value }) => value.toLowerCase()));
  return {
    keys,
    faults: [
      ...repeated(emails).map(() => 'two persons have one email address'),
      ...records.leads
        .filter(({ person_id: person }) => person === null)
        .map(({ id }) => `the lead ${id} has no person`),
    ],
  };
}

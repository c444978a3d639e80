import type { Delivery } from '../../../src/leads/delivery.ts';
import type { PipedriveStub } from '../../stub/pipedrive/pipedrive-stub.ts';
import { aDelivery } from '../../support/scene/a-delivery.ts';
import { aLead } from '../../support/scene/a-lead.ts';

/** Returns a new lead of one person, with other fields of the lead and of the delivery. */
export function anEnquiry(
  id: number,
  fields: Readonly<Record<string, unknown>> = {},
  delivery: Partial<Delivery> = {},
): Delivery {
  const raw = aLead({ id, client_email: 'anna@example.com', ...fields });
  return aDelivery({ leadId: BigInt(id), raw, ...delivery });
}

/** Makes a request to a company, as a person or another program would. Returns the record. */
export async function send(
  { url, token }: PipedriveStub,
  method: string,
  path: string,
  body?: object,
): Promise<{ readonly id: number }> {
  const answer = await fetch(`${url}${path}`, {
    method,
    headers: { 'x-api-token': token, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const { success, data } = (await answer.json()) as { success: boolean; data: { id: number } };
  if (!success) throw new Error(`${method} ${path} failed`);
  return data;
}

/** Returns an email address or phone number as the first of a person. */
export function contact(value: string): { value: string; primary: boolean; label: string } {
  return { value, primary: true, label: 'work' };
}

/** Returns the value of a custom field by the name of the field. */
export function customValue(
  stub: PipedriveStub,
  owner: 'person' | 'deal',
  values: Readonly<Record<string, unknown>> | undefined,
  name: string,
): unknown {
  return values?.[stub.fields[owner].find(({ field_name }) => field_name === name)?.field_code ?? ''];
}

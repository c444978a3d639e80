import type { z } from 'zod';
import { standardFields } from '../../../src/sinks/salesforce/options.ts';
import { SalesforceSink } from '../../../src/sinks/salesforce/salesforce.ts';
import { salesforce } from '../../../src/sinks/salesforce/salesforce-type.ts';
import type { Sink } from '../../../src/sinks/sink.ts';
import type { SinkParts } from '../../../src/sinks/sink-type.ts';
import {
  type SalesforceStub,
  type SalesforceStubOptions,
  startSalesforceStub,
} from '../../stub/salesforce/salesforce-stub.ts';
import { givingFields, rulesOf } from '../giving-fields.ts';
import { someParts } from '../some-parts.ts';

const NEVER = new AbortController().signal;

/** What a sink needs to know of an org. */
export type OrgAddress = Pick<SalesforceStub, 'url' | 'clientId' | 'clientSecret'>;

/** How a sink is opened. */
export interface OpenOptions {
  readonly options?: Partial<z.input<typeof salesforce.options>>;
  /** Fields beside the standard ones, as expressions. */
  readonly fields?: Readonly<Record<string, string>>;
  readonly parts?: Partial<SinkParts>;
}

/** Opens a salesforce sink whose leads have the standard fields, and others. */
export function openSalesforce(
  { url, clientId, clientSecret }: OrgAddress,
  { options = {}, fields = {}, parts = {} }: OpenOptions = {},
): Sink {
  const app = { domain: url, client_id: clientId, client_secret: clientSecret };
  const read = salesforce.options.parse({ ...app, ...options });
  const sink = new SalesforceSink(read, someParts({ batchMax: 200, ...parts }));
  return givingFields(sink, rulesOf(standardFields(read, 'AU'), fields));
}

/** Starts an org that has what a sink with these options needs. Its requests begin after that. */
export async function aPreparedOrg(
  stubOptions: SalesforceStubOptions = {},
  open: OpenOptions = {},
): Promise<SalesforceStub> {
  const stub = await startSalesforceStub(stubOptions);
  const sink = openSalesforce(stub, open);
  for (const { make } of (await sink.missingParts?.(NEVER)) ?? []) await make(NEVER);
  await sink.close();
  return stub;
}

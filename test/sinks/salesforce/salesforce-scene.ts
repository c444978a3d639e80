import type { Delivery } from '../../../src/leads/delivery.ts';
import type { Outcome } from '../../../src/leads/outcome.ts';
import type { Sink } from '../../../src/sinks/sink.ts';
import { SinkUnavailable } from '../../../src/sinks/sink-unavailable.ts';
import type { StoredRecord } from '../../stub/salesforce/object-table.ts';
import type { SalesforceStub, SalesforceStubOptions } from '../../stub/salesforce/salesforce-stub.ts';
import { aBatch, aDelivery } from '../../support/scene/a-delivery.ts';
import { aLead } from '../../support/scene/a-lead.ts';
import { aPreparedOrg, type OpenOptions, openSalesforce } from './open-salesforce.ts';

const NEVER = new AbortController().signal;
/** The requests of a delivery after the first: a query, and then the request that writes. */
const WRITING = 2;

/** An org, and a sink that delivers to it. */
export interface Scene {
  readonly stub: SalesforceStub;
  readonly sink: Sink;
  /** Delivers leads with these ids, or these deliveries. */
  deliver(...leads: readonly (number | Delivery)[]): Promise<readonly Outcome[]>;
  /** The leads in the org, oldest first. */
  leads(): readonly StoredRecord[];
}

const closing: (() => Promise<unknown>)[] = [];

/** Closes every scene. */
export async function closeScenes(): Promise<void> {
  for (const close of closing.splice(0).reverse()) await close();
}

/** Opens a scene. */
export async function scene(open: OpenOptions = {}, stubOptions: SalesforceStubOptions = {}): Promise<Scene> {
  const stub = await aPreparedOrg(stubOptions, open);
  closing.push(() => stub.close());
  const sink = openSalesforce(stub, open);
  closing.push(() => sink.close());
  return {
    stub,
    sink,
    deliver: (...leads) =>
      outcomesOf(
        sink,
        leads.map((lead) => (typeof lead === 'number' ? aDeliveryOf(lead) : lead)),
      ),
    leads: () => stub.records['Lead'] ?? [],
  };
}

async function outcomesOf(sink: Sink, deliveries: readonly Delivery[]): Promise<readonly Outcome[]> {
  try {
    return await sink.deliver(aBatch(deliveries), NEVER);
  } catch (error) {
    if (!(error instanceof SinkUnavailable)) throw error;
    return deliveries.map(() => error.toOutcome());
  }
}

/** Returns a delivery of the lead with this id, whose client has an address of their own. */
export function aDeliveryOf(
  id: number,
  lead: Parameters<typeof aLead>[0] = {},
  delivery: Partial<Delivery> = {},
): Delivery {
  const raw = aLead({ id, client_email: `client${id}@example.com`, ...lead });
  return aDelivery({ leadId: BigInt(id), raw, ...delivery });
}

/** Delivers leads with these ids, or these deliveries. Something happens immediately before the request of this number, counted from 1. */
export async function deliverWhile(
  { sink, stub }: Scene,
  happens: (stub: SalesforceStub) => unknown,
  leads: readonly (number | Delivery)[],
  request = WRITING,
): Promise<readonly Outcome[]> {
  let made = 0;
  const confirmLease = () => {
    made += 1;
    if (made === request) happens(stub);
  };
  const deliveries = leads.map((lead) => (typeof lead === 'number' ? aDeliveryOf(lead) : lead));
  try {
    return await sink.deliver(aBatch(deliveries), NEVER, { timeLeftMs: () => 60_000, confirmLease });
  } catch (error) {
    if (!(error instanceof SinkUnavailable)) throw error;
    return deliveries.map(() => error.toOutcome());
  }
}

/** Returns an update of the lead with this id, whose client has another name. */
export function anUpdateOf(id: number, name = 'Another Name'): Delivery {
  return aDeliveryOf(id, { client_name: name }, { event: 'updated', version: 2 });
}

/** Returns what became of each lead. */
export const kinds = (outcomes: readonly Outcome[]) => outcomes.map(({ kind }) => kind);
/** Returns why a lead was not delivered. */
export const reason = (outcome: Outcome | undefined) =>
  outcome && 'reason' in outcome ? outcome.reason : '';
/** Returns the remark of a lead that was delivered. */
export const remark = (outcome: Outcome | undefined) =>
  outcome?.kind === 'delivered' ? (outcome.remark ?? '') : `not delivered: ${reason(outcome)}`;
/** Returns the key of a lead in the org. */
export const keyOf = ({ Leadsync_Key__c: key }: StoredRecord) => key;

import { SinkUnavailable } from '../sink-unavailable.ts';
import type { Enquiry } from './enquiry.ts';
import { type RecordFault, unnamed } from './judge-record.ts';
import { KEY } from './options.ts';
import { type ExistingLead, readLeads } from './read-leads.ts';
import type { SalesforceApi } from './salesforce-api.ts';
import { UPSERT, type WriteOptions, type Writing, type Written, writeRecords } from './write-records.ts';

/**
 * Creates the lead of each enquiry, and passes what became of it to `settle` as soon as that is certain. Salesforce's results contain no keys;
 * its documentation merely promises that they are in the order of the request. In another order, leadsync would count a created lead as refused
 * and a refused one as created. If the results look inconsistent, leadsync therefore reads the leads by their keys, or sends each lead that it would
 * count as refused again, in a separate request.
 * @throws SinkUnavailable; every enquiry that was not settled may have arrived if the order of results could not be verified
 */
export async function createLeads(
  api: SalesforceApi,
  writings: readonly Writing<Enquiry>[],
  how: WriteOptions,
  settle: (of: Enquiry, written: Written) => void,
): Promise<void> {
  const made = new Map<Enquiry, string>();
  const faults = new Map<Enquiry, RecordFault>();
  const isOdd = () => made.size > 0 && (faults.size > 0 || !isAscending([...made.values()]));
  const settleMade = () => {
    for (const [of, id] of made) settle(of, { id });
  };
  try {
    await writeRecords(api, UPSERT, writings, how, (of, written) =>
      'fault' in written ? faults.set(of, written.fault) : made.set(of, written.id),
    );
  } catch (error) {
    if (isOdd()) throw leavingOpen(error);
    settleMade();
    throw error;
  }
  if (isOdd()) {
    const found = await findMade(api, writings, how);
    // A lead that is not found proves nothing, because the user of the app may be unable to see it.
    const isInOrder = writings.every(({ of }) => {
      const id = found.get(of.key)?.id;
      return id === undefined || id === made.get(of);
    });
    if (!isInOrder) {
      for (const { of } of writings) settle(of, found.get(of.key) ?? { fault: unnamed(api.addressee, 200) });
      return;
    }
  } else if (new Set([...faults.values()].map(textOf)).size > 1) {
    const doubtful = writings.filter(({ of }) => !(faults.get(of) instanceof SinkUnavailable));
    for (const writing of doubtful) {
      faults.delete(writing.of);
      await writeRecords(api, UPSERT, [writing], how, (of, written) =>
        'fault' in written ? faults.set(of, written.fault) : settle(of, written),
      );
    }
  }
  settleMade();
  for (const [of, fault] of faults) settle(of, { fault });
}

/** Returns the leads that Salesforce has, by key. @throws SinkUnavailable, which says that every lead may have arrived */
async function findMade(
  api: SalesforceApi,
  writings: readonly Writing<Enquiry>[],
  { limits }: WriteOptions,
): Promise<ReadonlyMap<string, ExistingLead>> {
  const keys = writings.map(({ of }) => of.key);
  try {
    return await readLeads(api, { by: KEY, keys, names: [] }, limits);
  } catch (error) {
    throw leavingOpen(error);
  }
}

/** Returns the failure with the mark that leads may have arrived. This includes the end of the lease, because the leads were sent before it. */
function leavingOpen(error: unknown): unknown {
  if (!(error instanceof SinkUnavailable)) return error;
  return new SinkUnavailable(error.message, { ...error, unsent: false, mayHaveArrived: true, cause: error });
}

/** Whether ids ascend, as Salesforce assigns them to the records of a request. If Salesforce assigns them otherwise, the only cost is one query. */
function isAscending(ids: readonly string[]): boolean {
  return ids.every((id, at) => at === 0 || (ids[at - 1] as string) < id);
}

function textOf(fault: RecordFault): string {
  if (fault instanceof SinkUnavailable) return fault.message;
  if ('reason' in fault) return fault.reason;
  return 'refused' in fault ? fault.refused.reason : fault.kind;
}

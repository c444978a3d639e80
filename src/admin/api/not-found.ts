import { RequestError } from '../contract/request-error.ts';

/** Refuses for a lead that no listing had. @throws RequestError */
export function noSuchLead(source: string, lead: string): never {
  throw new RequestError(
    404,
    'unknown-lead',
    `Lead ${lead} of ${source} is not in the ledger: no listing that was read so far had it.`,
    '/api/v1/leads?lead=… looks for the id in every source; /api/v1/overview says when each was last read.',
  );
}

/** Refuses for a content that a lead never had. @throws RequestError */
export function noSuchVersion(source: string, lead: string, version: number): never {
  throw new RequestError(
    404,
    'unknown-version',
    `The ledger has no version ${version} of lead ${lead} of ${source}.`,
    `/api/v1/leads/${source}/${lead} lists those that there are.`,
  );
}

/** Refuses for a sink that nobody knows. @throws RequestError */
export function noSuchSink(sink: string): never {
  throw new RequestError(
    404,
    'unknown-sink',
    `There is no sink "${sink}".`,
    '/api/v1/sinks lists those that there are.',
  );
}

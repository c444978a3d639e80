import type { Operations } from '../contract/operations.ts';
import { RequestError } from '../contract/request-error.ts';

/** Rejects a request for a lead that no listing contained. @throws RequestError with status 404 */
export function noSuchLead(source: string, lead: string): never {
  throw new RequestError(
    404,
    'unknown-lead',
    `Lead ${lead} of ${source} is not in the ledger: no listing has contained it so far.`,
    '/api/v1/leads?lead=… searches every source for the id; /api/v1/overview shows when each source was last polled.',
  );
}

/** Rejects a request for a version that the lead never had. @throws RequestError with status 404 */
export function noSuchVersion(source: string, lead: string, version: number): never {
  throw new RequestError(
    404,
    'unknown-version',
    `The ledger has no version ${version} of lead ${lead} of ${source}.`,
    `/api/v1/leads/${source}/${lead} lists the versions of the lead.`,
  );
}

/** Rejects a request for an unknown sink. Names the new name of a renamed sink. @throws RequestError with status 404 */
export async function noSuchSink(sink: string, operations: Pick<Operations, 'sinks'>): Promise<never> {
  const renamed = (await operations.sinks()).find(({ formerly }) => formerly === sink);
  const what = `There is no sink "${sink}"${renamed ? `: it was renamed to ${renamed.sink}.` : '.'}`;
  throw new RequestError(404, 'unknown-sink', what, '/api/v1/sinks lists the sinks.');
}

/** Rejects a request for an unknown source. @throws RequestError with status 404 */
export function noSuchSource(source: string): never {
  throw new RequestError(
    404,
    'unknown-source',
    `There is no source "${source}" in the configuration in force.`,
    '/api/v1/overview lists the sources.',
  );
}

/** Rejects a request for an unknown export or backup. @throws RequestError with status 404 */
export function noSuchExport(what: 'export' | 'backup', name: string): never {
  throw new RequestError(
    404,
    `unknown-${what}`,
    `There is no ${what} "${name}" in the configuration in force.`,
    `/api/v1/overview lists the ${what}s.`,
  );
}

/** Rejects a request for an unknown rejected lead. @throws RequestError with status 404 */
export function noSuchRejection(id: string): never {
  throw new RequestError(
    404,
    'unknown-rejected-lead',
    `The ledger has no rejected lead ${id}.`,
    '/api/v1/rejected-leads lists them; `retention` may have removed it.',
  );
}

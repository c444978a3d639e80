import { type Json, listOf, objectOf, textOf, textsOf } from '../http/json-answer.ts';

/** A record as HubSpot returns it. */
export interface HubSpotRecord {
  readonly id: string;
  readonly properties: Readonly<Record<string, string | null>>;
}

/** What HubSpot says about a request that it did not accept, or about a record in it. Every part of a HubSpot error is optional. */
export interface HubSpotFault {
  readonly category: string;
  /** The properties at fault, each with HubSpot's code: `INVALID_OPTION`. */
  readonly properties: readonly { readonly name: string; readonly code: string }[];
  /** Required properties that the record lacks. */
  readonly missing: readonly string[];
  /** The id of the record that already has a unique value. */
  readonly existingId: string | undefined;
  /** Whether the property by which records are found does not have unique values. */
  readonly isNotUnique: boolean;
  /** The scopes of which the request needs one and the token has none. */
  readonly scopes: readonly string[];
  /** The limit that was exceeded: `DAILY`. */
  readonly policy: string | undefined;
}

/** One result of a batch: the record, or why there is none. */
interface BatchResult<Of> {
  readonly traceId: string | undefined;
  readonly of: Of;
}

/** The answer to a batch. */
export interface BatchAnswer {
  readonly records: readonly BatchResult<HubSpotRecord>[];
  readonly faults: readonly BatchResult<HubSpotFault>[];
}

/** Returns the records and faults in a body; undefined if it is not the answer to a batch. */
export function readBatch(body: Json): BatchAnswer | undefined {
  if (!Array.isArray(body['results'])) return undefined;
  const records = listOf(body['results']).flatMap((result) => {
    const { id, properties, objectWriteTraceId } = result;
    const values = objectOf(properties);
    if (typeof id !== 'string' || values === undefined) return [];
    return [
      { traceId: textOf(objectWriteTraceId), of: { id, properties: values as HubSpotRecord['properties'] } },
    ];
  });
  const faults = listOf(body['errors']).map((error) => ({
    traceId: textsOf(objectOf(error['context'])?.['objectWriteTraceId'])[0],
    of: readFault(error),
  }));
  return { records, faults };
}

/** A contact and a record to link, by their ids. A contact and a record may have the same id. */
export interface Link {
  readonly contact: string;
  readonly record: string;
}

/** HubSpot's type of the association from a deal to its contact. An answer may describe a link in this direction. */
const DEAL_TO_CONTACT = 3;

/** Returns the links that a body names, as `linkText` writes them; undefined if it is not the answer to such a request. */
export function readLinks(body: Json): ReadonlySet<string> | undefined {
  if (!Array.isArray(body['results'])) return undefined;
  const links = listOf(body['results']).flatMap(({ from, to, associationSpec }) => {
    const ends = [from, to].map((end) => textOf(objectOf(end)?.['id']));
    const isBack = objectOf(associationSpec)?.['associationTypeId'] === DEAL_TO_CONTACT;
    const [contact, record] = isBack ? ends.reverse() : ends;
    return contact === undefined || record === undefined ? [] : [linkText({ contact, record })];
  });
  return new Set(links);
}

/** Returns a link as a single string. */
export function linkText({ contact, record }: Link): string {
  return `${contact} ${record}`;
}

/** Parses an error, about a whole request or one record. */
export function readFault(error: Json | undefined): HubSpotFault {
  const message = textOf(error?.['message']) ?? '';
  const context = objectOf(error?.['context']);
  const errors = listOf(error?.['errors']);
  const listed = errors.flatMap((one) => {
    const code = textOf(one['code']) ?? 'INVALID';
    return textsOf(objectOf(one['context'])?.['propertyName']).map((name) => ({ name, code }));
  });
  return {
    category: textOf(error?.['category']) ?? '',
    properties: listed.length > 0 ? listed : propertiesIn(message),
    missing: textsOf(context?.['properties']),
    existingId: /Existing ID: (\d+)/.exec(message)?.[1],
    isNotUnique: /\bnon-unique\b/.test(message),
    scopes: errors.flatMap((one) => textsOf(objectOf(one['context'])?.['requiredGranularScopes'])),
    policy: textOf(error?.['policyName']),
  };
}

/**
 * Returns the properties that an error message names. The message lists invalid values as JSON at its end. It describes a value that another
 * record already has as `PropertyValueCoordinates{…, propertyName=job_number, …}`.
 */
function propertiesIn(message: string): HubSpotFault['properties'] {
  const taken = /PropertyValueCoordinates\{.*?\bpropertyName=(\w+)/s.exec(message)?.[1];
  if (taken !== undefined) return [{ name: taken, code: 'CONFLICTING_UNIQUE_VALUE' }];
  const json = /\[\{.*\}\]/s.exec(message)?.[0];
  if (json === undefined) return [];
  try {
    return listOf(JSON.parse(json)).flatMap(({ name, error }) =>
      typeof name === 'string' ? [{ name, code: textOf(error) ?? 'INVALID' }] : [],
    );
  } catch {
    return [];
  }
}

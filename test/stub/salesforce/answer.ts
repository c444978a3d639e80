/** An answer of Salesforce: a text body is sent as it is, anything else as JSON. */
export interface Answer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

/** An error of one record, as sObject Collections report it. */
export interface RecordError {
  readonly statusCode: string;
  readonly message: string;
  readonly fields: readonly string[];
  readonly duplicateResult?: DuplicateResult;
}

/** What a duplicate rule found (complex type `DuplicateResult` of the partner WSDL). */
export interface DuplicateResult {
  /** Whether the rule only alerts, so that `allowSave=true` passes it. */
  readonly allowSave: boolean;
  readonly duplicateRule: string;
  readonly duplicateRuleEntityType: string;
  readonly errorMessage: string;
  readonly matchResults: readonly {
    readonly entityType: string;
    readonly errors: readonly never[];
    readonly matchEngine: string;
    readonly matchRecords: readonly { readonly matchConfidence: number; readonly record: object }[];
    readonly rule: string;
    readonly size: number;
    readonly success: boolean;
  }[];
}

/** Returns the error of a record. */
export function recordError(
  statusCode: string,
  message: string,
  fields: readonly string[] = [],
): RecordError {
  return { statusCode, message, fields };
}

/** Returns the answer to a request that failed as a whole: a list with one error, as all of the REST API reports it. */
export function failed(
  status: number,
  errorCode: string,
  message: string,
  fields?: readonly string[],
): Answer {
  return { status, body: [{ message, errorCode, ...(fields === undefined ? {} : { fields }) }] };
}

/** Returns the answer to a request about a single record that Salesforce did not save. */
export function notSaved(errors: readonly RecordError[]): Answer {
  const status = errors.some(({ statusCode }) => statusCode === 'ENTITY_IS_DELETED') ? 404 : 400;
  return {
    status,
    body: errors.map(({ statusCode, ...error }) => ({ ...error, errorCode: statusCode })),
  };
}

/** Returns the answer to a request for something that is not there. */
export function notFound(message = 'The requested resource does not exist'): Answer {
  return failed(404, 'NOT_FOUND', message);
}

/** One fault of a property, as HubSpot prints it in the message of a 400. */
export interface PropertyFault {
  readonly name: string;
  readonly error: string;
  readonly message: string;
}

/** The fields of an error that vary from one to the next; HubSpot calls all of them optional. */
export interface ErrorDetails {
  readonly subCategory?: string;
  readonly context?: Readonly<Record<string, readonly string[]>>;
  readonly errors?: readonly object[];
  readonly links?: Readonly<Record<string, string>>;
  /** Fields of the body that only this error has, such as `policyName`. */
  readonly also?: Readonly<Record<string, string>>;
}

/** An answer other than success, thrown by whatever finds the fault. */
export class ApiError extends Error {
  readonly status: number;
  readonly category: string | undefined;
  readonly details: ErrorDetails;

  constructor(status: number, category: string | undefined, message: string, details: ErrorDetails = {}) {
    super(message);
    this.status = status;
    this.category = category;
    this.details = details;
  }

  /** Returns the body of an answer that consists of this error. */
  body(correlationId: string): object {
    const { also, ...details } = this.details;
    const category = this.category === undefined ? {} : { category: this.category };
    return { status: 'error', message: this.message, correlationId, ...also, ...details, ...category };
  }

  /** Returns the entry for one input in the `errors` of a 207, as the documentation's example has it. */
  entry(traceId: string | undefined): object {
    const { subCategory, context } = this.details;
    const traced = traceId === undefined ? {} : { objectWriteTraceId: [traceId] };
    return {
      status: 'error',
      ...(this.category === undefined ? {} : { category: this.category }),
      ...(subCategory === undefined ? {} : { subCategory }),
      message: this.message,
      context: { ...context, ...traced },
    };
  }
}

/** Returns a 400 about the request as such. */
export function invalid(message: string, details?: ErrorDetails): ApiError {
  return new ApiError(400, 'VALIDATION_ERROR', message, details);
}

/** Returns a 400 about values: the message carries JSON, which is how clients learn the property's name. */
export function invalidValues(faults: readonly PropertyFault[], portalId: number): ApiError {
  const printed = faults.map(({ name, error, message }) => ({
    isValid: false,
    message,
    error,
    name,
    localizedErrorMessage: message,
    portalId,
  }));
  return invalid(`Property values were not valid: ${JSON.stringify(printed)}`, {
    errors: faults.map(({ name, error, message }) => ({
      message,
      code: error,
      context: { propertyName: [name] },
    })),
  });
}

/** Returns a 404, or the 207's entry, for records that do not exist. */
export function notFound(singular: string, ids: readonly string[]): ApiError {
  return new ApiError(
    404,
    'OBJECT_NOT_FOUND',
    `Could not get some ${singular} objects, they may be deleted or not exist. Check that ids are valid.`,
    { context: { ids } },
  );
}

/** Returns the 403 of a token that lacks every one of `scopes`. */
export function missingScopes(scopes: readonly string[]): ApiError {
  return new ApiError(
    403,
    'MISSING_SCOPES',
    "This app hasn't been granted all required scopes to make this call. Read more about required scopes here: https://developers.hubspot.com/scopes.",
    {
      errors: [
        {
          message: 'One or more of the following scopes are required.',
          context: { requiredGranularScopes: scopes },
        },
      ],
      links: { scopes: 'https://developers.hubspot.com/scopes' },
    },
  );
}

/** The limits that HubSpot names in a 429. */
export type LimitPolicy = 'TEN_SECONDLY_ROLLING' | 'SECONDLY' | 'DAILY';

/** Returns a 429. */
export function rateLimited(policy: LimitPolicy): ApiError {
  return new ApiError(429, undefined, `You have reached your ${policy.toLowerCase()} limit.`, {
    also: {
      errorType: 'RATE_LIMIT',
      policyName: policy,
      groupName: 'publicapi:private-app-api-calls:1234567',
    },
  });
}

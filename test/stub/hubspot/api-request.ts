import { z } from 'zod';
import { invalid } from './api-error.ts';

/** A request to the API, once its path is taken apart. */
export interface ApiRequest {
  readonly method: string;
  /** What follows the API's prefix and version. */
  readonly path: readonly string[];
  readonly query: URLSearchParams;
  /** The body as parsed; undefined if there is none. */
  readonly body: unknown;
}

/** The answer to a request that succeeds, wholly or in part. */
export interface ApiAnswer {
  readonly status: number;
  /** None with 204. */
  readonly body?: object;
}

/** Returns a body of the right form. @throws ApiError 400, also for a field that HubSpot does not know */
export function parseBody<Schema extends z.ZodType>(schema: Schema, body: unknown): z.output<Schema> {
  const parsed = schema.safeParse(body);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw invalid(`Invalid input JSON on line 1, column 1: ${issue?.path.join('.')}: ${issue?.message}`);
}

/** The form of property values: texts only. */
export const propertyValues = z.record(z.string(), z.string());

/** Returns the form of a batch of at most `max` inputs. */
export function batchOf<Input extends z.ZodType>(input: Input) {
  return z.strictObject({ inputs: z.array(input) });
}

/** @throws ApiError 400 for an empty batch and for one that is too large */
export function checkSize(inputs: readonly unknown[], max: number): void {
  if (inputs.length === 0) throw invalid('Invalid input JSON on line 1, column 1: inputs must not be empty');
  if (inputs.length > max)
    throw invalid(
      `The maximum number of inputs supported in a batch is ${max}. Please reduce the number of items and try again`,
    );
}

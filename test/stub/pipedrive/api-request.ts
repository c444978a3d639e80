import type { Body } from './parameters.ts';
import type { VendorAnswer } from './vendor-answer.ts';

/** A request to one operation, after authentication and limits. */
export interface ApiRequest {
  readonly query: URLSearchParams;
  /** The parsed body; empty without one. */
  readonly body: Body;
  /** The last segment of the path: an id or a field's code. */
  readonly id: string;
}

/** Handles an operation. @throws Refusal if it stores nothing */
export type Handler = (request: ApiRequest) => VendorAnswer;

/** Returns the answer to a request that succeeded. */
export function succeeded(data: unknown, status = 200): VendorAnswer {
  return { status, body: { success: true, data } };
}

import { z } from 'zod';
import { ActionTotals } from '../contract/deliveries.ts';
import { TriedExpression } from '../contract/previews.ts';

const others = {
  groups: ActionTotals.shape.groups
    .optional()
    .describe('With `dry_run`: the deliveries by sink, source, state and reason, most first.'),
  unmatched: ActionTotals.shape.unmatched.describe('The given ids that select no delivery.'),
};
/** Result of a retry. */
export const Done = z.object({
  deliveries: z.int().nonnegative().describe('Number of deliveries that are, or would be, due now.'),
  ...others,
});
/** Result of a discard. */
export const Discarded = z.object({
  deliveries: z.int().nonnegative().describe('Number of deliveries that are, or would be, discarded.'),
  ...others,
});
/** The sink whose state an action changed. */
export const Changed = z.object({ sink: z.string() });
/** The poll that an operator requested. */
export const Requested = z.object({
  source: z.string(),
  poll: z
    .enum(['started', 'running'])
    .describe('`running`: a poll was already in progress, so this request did not start another.'),
});
const run = z
  .enum(['requested', 'running'])
  .describe('`running`: a run was already in progress, so this request did not start another.');
/** The export that an operator requested. */
export const RequestedExport = z.object({ export: z.string(), run });
/** The backup that an operator requested. */
export const RequestedBackup = z.object({ backup: z.string(), run });
/** Result of trying an expression. */
export const Tried = z.object({ result: TriedExpression });

/** Body of every error. */
const ApiError = z
  .object({
    error: z.object({
      code: z.string().describe('Stable code for programs.'),
      message: z.string().describe('What happened, in one sentence.'),
      hint: z.string().describe('Next step; may be empty.'),
    }),
  })
  .describe('The request failed.');

/**
 * Returns the responses of an operation for its OpenAPI description: the success, the given error statuses, and the error statuses of every
 * operation. `default` covers the errors of the checks that run before the operation, such as a wrong origin or a body that is too large.
 */
export function responses<Success extends z.ZodType, ErrorStatus extends 404 | 422 = never>(
  success: Success,
  ...statuses: ErrorStatus[]
) {
  const errors = [400, 401, 403, ...statuses, 500, 503] as const;
  return {
    200: success,
    default: ApiError,
    ...(Object.fromEntries(errors.map((status) => [status, ApiError])) as Record<
      400 | 401 | 403 | 500 | 503,
      typeof ApiError
    >),
  };
}

import { z } from 'zod';

/** Why something was not done. */
const ApiError = z
  .object({
    error: z.object({
      code: z.string().describe('For programs to branch on.'),
      message: z.string().describe('What happened, in a sentence.'),
      hint: z.string().describe('What to do next; may be empty.'),
    }),
  })
  .describe('What was asked cannot be done.');

/** The answers of an operation: what it gives, and what it may say instead; `default` is what stands before all of them: a wrong origin, a body that is too large. */
export function responses<Given extends z.ZodType, Refused extends 404 | 422 = never>(
  given: Given,
  ...refused: Refused[]
) {
  const errors = [400, 401, ...refused, 500, 503] as const;
  return {
    200: given,
    default: ApiError,
    ...(Object.fromEntries(errors.map((status) => [status, ApiError])) as Record<
      400 | 401 | 500 | 503,
      typeof ApiError
    >),
  };
}

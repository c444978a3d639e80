import { z } from 'zod';

/**
 * Returns the schema of the option `store_answers`. `example` says, as a phrase that begins with `to`, what an answer to a delivered lead is good
 * for.
 */
export function storeAnswers(example: string) {
  return z
    .enum(['failed', 'all'])
    .default('failed')
    .describe(
      `Which answers the ledger stores with the attempt, up to 1,000 characters each: those to \`failed\` attempts, or \`all\`, for example ${example}. Answers may contain personal data. \`trace --show-data\` and the lead's page show them.`,
    );
}

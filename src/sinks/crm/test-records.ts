import type { Outcome } from '../../leads/outcome.ts';
import type { TestResult } from '../sink.ts';

/** Creates the records of a test lead, and deletes them even if only some of them were created. @throws the first failure */
export async function makeAndDelete(
  make: () => Promise<unknown>,
  deleteAll: () => Promise<unknown>,
): Promise<void> {
  try {
    await make();
  } catch (error) {
    await deleteAll().catch(() => undefined); // the first failure says more
    throw error;
  }
  await deleteAll();
}

/** Returns the result of a test whose lead the destination did not accept. */
export function notTaken(outcome: Outcome | undefined, destination: string): TestResult {
  const what = outcome && 'reason' in outcome ? outcome.reason : undefined;
  return { arrived: false, what: what ?? `${destination} did not accept it.` };
}

import { createInterface } from 'node:readline';

/**
 * Runs a job once for each line of standard input, and answers with a line of JSON: the duration in ms, and the result of the job. So a
 * reference can be measured cold, with one line, and warm, with several.
 */
export async function eachLine(job: () => Promise<Record<string, number>>): Promise<void> {
  for await (const _ of createInterface({ input: process.stdin })) {
    const startMs = performance.now();
    const result = await job();
    process.stdout.write(`${JSON.stringify({ ms: performance.now() - startMs, ...result })}\n`);
  }
}

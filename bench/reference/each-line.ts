import { createInterface } from 'node:readline';

/**
 * Does a job once for each line of standard input, and answers each with a line of JSON: the ms that it took, and what
 * the job itself has to say. So a reference can be measured cold, by one line, and warm, by several.
 */
export async function eachLine(job: () => Promise<Record<string, number>>): Promise<void> {
  for await (const _ of createInterface({ input: process.stdin })) {
    const startMs = performance.now();
    const told = await job();
    process.stdout.write(`${JSON.stringify({ ms: performance.now() - startMs, ...told })}\n`);
  }
}

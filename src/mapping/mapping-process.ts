import { setPriority } from 'node:os';
import { Secret } from '../platform/options/secret.ts';
import { endWithParent, type MemoryLimit } from '../platform/process/end-with-parent.ts';
import { mapOne } from './map-delivery.ts';
import type { MappingJob, MappingJobs, Started } from './start-mapping-process.ts';
import { tryExpression } from './try-expression.ts';

// The program of a `MappingProcess`. It does one job at a time.

/** Value for nice(1), so that deliveries get the CPU before expressions that people try out. */
const NICENESS = 5;

let limit: MemoryLimit | undefined;

process.on('message', (message: Started | MappingJob) => {
  if ('parent' in message) return begin(message);
  const result = resultOf(message);
  // The watchdog thread checks the memory from time to time, so a fast job can exceed the limit unnoticed.
  if (limit && process.resourceUsage().maxRSS * 1024 > limit.maxBytes)
    process.kill(process.pid, limit.signal);
  else process.send?.(result);
});

function begin({ parent, maxBytes, signal }: Started): void {
  limit = { maxBytes, signal };
  endWithParent(parent, limit);
  setPriority(NICENESS);
  process.send?.('started');
}

function resultOf(job: MappingJob): MappingJobs[MappingJob['kind']]['result'] {
  const clientKey = job.clientKey === undefined ? undefined : new Secret(job.clientKey);
  return job.kind === 'map'
    ? mapOne(job.delivery, job.ofSink, clientKey)
    : tryExpression(job.expression, job.delivery, clientKey);
}

import { setPriority } from 'node:os';
import { Secret } from '../platform/options/secret.ts';
import { endWithParent } from '../platform/process/end-with-parent.ts';
import { mapOne } from './map-delivery.ts';
import type { MappingJob, MappingJobs, Started } from './start-mapping-process.ts';
import { tryExpression } from './try-expression.ts';

// The program of a `MappingProcess`. It does one job at a time.

/** Value for nice(1), so that deliveries get the CPU before expressions that people try out. */
const NICENESS = 5;

process.on('message', (message: Started | MappingJob) => {
  if ('parent' in message) begin(message);
  else process.send?.(resultOf(message));
});

function begin({ parent, maxBytes, signal }: Started): void {
  endWithParent(parent, { maxBytes, signal });
  setPriority(NICENESS);
  process.send?.('started');
}

function resultOf(job: MappingJob): MappingJobs[MappingJob['kind']]['result'] {
  const clientKey = job.clientKey === undefined ? undefined : new Secret(job.clientKey);
  return job.kind === 'map'
    ? mapOne(job.delivery, job.ofSink, clientKey)
    : tryExpression(job.expression, job.delivery, clientKey);
}

import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import {
  type ActionTotals,
  type DeliveryFilter,
  ReplayCancellation,
  ReplayTotals,
} from '../contract/deliveries.ts';
import type { Ids, Operations } from '../contract/operations.ts';
import {
  cancelBody,
  discardBody,
  leadPath,
  replayAllBody,
  replayBody,
  retryBody,
  sinkPath,
} from './inputs.ts';
import { noSuchLead, noSuchSink } from './not-found.ts';
import { Discarded, Done, responses } from './outputs.ts';

/** Maximum size of a body with a list of ids, in bytes. */
const MAX_IDS_BYTES = 4 * 1024 * 1024;

/**
 * Adds the routes that retry, discard and replay. With `dry_run`, each only says what it would do, and calls an operation that changes nothing, which
 * the audit log does not record.
 */
export function addDeliveryActions(scope: FastifyInstance, operations: Operations): void {
  const app = scope.withTypeProvider<ZodTypeProvider>();
  app.post(
    '/leads/:source/:lead/replay',
    {
      config: { operation: 'replay' },
      schema: {
        operationId: 'replay',
        summary: 'Deliver the current version of a lead to a sink again, or count it',
        description:
          'Creates a new delivery that is marked as a replay, whether or not the lead was delivered before.',
        tags: ['leads'],
        params: leadPath,
        body: replayBody,
        response: responses(Done, 404),
      },
    },
    async ({ params: { source, lead }, body: { sink, dry_run } }) => {
      const deliveries = dry_run
        ? (await operations.replayable(sink, { source, lead })).leads
        : await operations.replay(sink, source, lead);
      return deliveries > 0 ? { deliveries, unmatched: [] } : noSuchLead(source, lead);
    },
  );
  app.post(
    '/deliveries/retry',
    {
      bodyLimit: MAX_IDS_BYTES,
      config: { operation: 'retry' },
      schema: {
        operationId: 'retry',
        summary: 'Make dead or pending deliveries due now, with a new retry schedule, or count them',
        description: 'Leaves out deliveries that are being attempted now.',
        tags: ['deliveries'],
        body: retryBody,
        response: responses(Done),
      },
    },
    ({ body: { all: _, dry_run, ...filter } }) =>
      doneOf(filter, dry_run, operations.retriable, () => operations.retry(filter)),
  );
  app.post(
    '/deliveries/discard',
    {
      bodyLimit: MAX_IDS_BYTES,
      config: { operation: 'discard' },
      schema: {
        operationId: 'discard',
        summary: 'Discard dead deliveries, with a note, or count them',
        description:
          'The deliveries become `skipped`, and no longer count as dead. `retry` with their ids, or with the state `discarded`, makes them pending again.',
        tags: ['deliveries'],
        body: discardBody,
        response: responses(Discarded),
      },
    },
    ({ body: { all: _, note, dry_run, ...filter } }) =>
      doneOf(filter, dry_run, operations.discardable, () => operations.discard(filter, note)),
  );
  app.post(
    '/sinks/:sink/replay',
    {
      bodyLimit: MAX_IDS_BYTES,
      config: { operation: 'replayAll' },
      schema: {
        operationId: 'replayAll',
        summary: 'Deliver leads to a sink again, or count them',
        description:
          'Creates a new delivery of the current version of each matching lead, marked as a replay.',
        tags: ['sinks'],
        params: sinkPath,
        body: replayAllBody,
        response: responses(ReplayTotals, 404),
      },
    },
    async ({ params: { sink }, body: { all: _, dry_run, ...filter } }) => {
      const totals = await operations.replayable(sink, filter);
      return dry_run ? totals : { ...totals, leads: await operations.replayAll(sink, filter) };
    },
  );
  app.post(
    '/sinks/:sink/cancel-replay',
    {
      config: { operation: 'cancelReplays' },
      schema: {
        operationId: 'cancelReplay',
        summary: 'Skip the pending deliveries that replays owe to a sink, or count them',
        description: 'New and changed leads are not affected, and attempts in progress are not interrupted.',
        tags: ['sinks'],
        params: sinkPath,
        body: cancelBody,
        response: responses(ReplayCancellation, 404),
      },
    },
    async ({ params: { sink }, body }) =>
      (await (body?.dry_run ? operations.cancellable(sink) : operations.cancelReplays(sink))) ??
      noSuchSink(sink, operations),
  );
}

/** Returns what an action did, or would do. Names the ids that select nothing. Counts only for a dry run and for ids, because counting takes time. */
async function doneOf<Filter extends DeliveryFilter & Ids>(
  filter: Filter,
  isDryRun: boolean | undefined,
  count: (filter: Filter) => Promise<ActionTotals>,
  act: () => Promise<number>,
) {
  if (isDryRun) return count(filter);
  const { unmatched } = filter.ids ? await count(filter) : { unmatched: [] };
  return { deliveries: await act(), unmatched };
}

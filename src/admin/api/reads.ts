import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { printCount } from '../../platform/text/format.ts';
import {
  Configuration,
  DeliveryRow,
  LeadDetail,
  LeadRow,
  Overview,
  PollRow,
  pageOf,
  SinkOverview,
} from '../contract/model.ts';
import { MAX_COUNTED, type Operations } from '../contract/operations.ts';
import { deliveryCountQuery, deliveryQuery, leadPath, leadQuery, pollQuery } from './inputs.ts';
import { noSuchLead } from './not-found.ts';
import { responses } from './outputs.ts';

/** Adds what can be read. Nothing of it holds a lead's content. */
export function addReads(scope: FastifyInstance, operations: Operations): void {
  const app = scope.withTypeProvider<ZodTypeProvider>();
  app.get(
    '/overview',
    {
      schema: {
        operationId: 'overview',
        summary: 'Is it well, and if not, what is wrong and what to do next',
        tags: ['watch'],
        response: responses(Overview),
      },
    },
    () => operations.overview(),
  );
  app.get(
    '/leads',
    {
      schema: {
        operationId: 'leads',
        summary: 'Leads without their content, the newest first',
        description:
          'By id, source, service, time, and whether the source still lists them. With a service and without an id, the time is when the lead came to the service; with `listing=gone`, when it was first missing from a complete listing.',
        tags: ['leads'],
        querystring: leadQuery,
        response: responses(pageOf(LeadRow)),
      },
    },
    ({ query: { limit, after, ...search } }) => operations.leads(search, { limit, after }),
  );
  app.get(
    '/leads/:source/:lead',
    {
      schema: {
        operationId: 'lead',
        summary: 'What became of one lead: versions, deliveries, each attempt',
        tags: ['leads'],
        params: leadPath,
        response: responses(LeadDetail, 404),
      },
    },
    async ({ params: { source, lead } }) => (await operations.lead(source, lead)) ?? noSuchLead(source, lead),
  );
  app.get(
    '/deliveries',
    {
      schema: {
        operationId: 'deliveries',
        summary: 'Deliveries, the newest first by when they were owed',
        tags: ['deliveries'],
        querystring: deliveryQuery,
        response: responses(pageOf(DeliveryRow)),
      },
    },
    ({ query: { limit, after, ...filter } }) => operations.deliveries(filter, { limit, after }),
  );
  app.get(
    '/deliveries/count',
    {
      schema: {
        operationId: 'countDeliveries',
        summary: `How many deliveries a filter means, counted up to ${printCount(MAX_COUNTED)}`,
        tags: ['deliveries'],
        querystring: deliveryCountQuery,
        response: responses(z.object({ deliveries: z.int().nonnegative() })),
      },
    },
    async ({ query }) => ({ deliveries: await operations.countDeliveries(query) }),
  );
  app.get(
    '/sinks',
    {
      schema: {
        operationId: 'sinks',
        summary: 'Every sink: how it is, and what it is owed',
        tags: ['sinks'],
        response: responses(z.object({ rows: z.array(SinkOverview) })),
      },
    },
    async () => ({ rows: [...(await operations.sinks())] }),
  );
  app.get(
    '/polls',
    {
      schema: {
        operationId: 'polls',
        summary: 'Polls, the newest first',
        tags: ['watch'],
        querystring: pollQuery,
        response: responses(pageOf(PollRow)),
      },
    },
    ({ query: { limit, after, ...filter } }) => operations.polls(filter, { limit, after }),
  );
  app.get(
    '/configuration',
    {
      schema: {
        operationId: 'configuration',
        summary: 'The configuration in force, with where each value comes from; secrets are masked',
        tags: ['configuration'],
        response: responses(Configuration),
      },
    },
    () => operations.configuration(),
  );
}

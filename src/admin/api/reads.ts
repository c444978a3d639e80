import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { printCount } from '../../platform/text/human-readable.ts';
import { Alerts } from '../contract/alerts.ts';
import { Configuration, ReloadPreview } from '../contract/configuration.ts';
import { FailureReasons } from '../contract/deliveries.ts';
import { LeadDetail } from '../contract/leads.ts';
import { MAX_COUNTED, type Operations } from '../contract/operations.ts';
import { ExpressionLanguage } from '../contract/previews.ts';
import { may } from '../contract/rights.ts';
import { SinkDetail, SinkRow, withoutOrigins } from '../contract/sinks.ts';
import { count } from '../contract/values.ts';
import { OverviewAnswer, withFormerNames } from './former-names.ts';
import { deliveryCountQuery, leadCountQuery, leadPath, sinkPath, sinkQuery } from './inputs.ts';
import { noSuchLead, noSuchSink } from './not-found.ts';
import { responses } from './outputs.ts';

const atLeast = z
  .boolean()
  .describe(
    `Whether there may be more. Counting stops at ${printCount(MAX_COUNTED)}, or earlier if it would read too many rows that do not match.`,
  );

/** Adds the read-only routes, apart from the lists. None of them returns a lead's content. */
export function addReads(scope: FastifyInstance, operations: Operations): void {
  const app = scope.withTypeProvider<ZodTypeProvider>();
  app.get(
    '/overview',
    {
      config: { operation: 'overview' },
      schema: {
        operationId: 'overview',
        summary: 'State of sources, sinks and exports, with each problem and its next step',
        tags: ['watch'],
        response: responses(OverviewAnswer),
      },
    },
    async () => withFormerNames(await operations.overview()),
  );
  app.get(
    '/leads/count',
    {
      config: { operation: 'countLeads' },
      schema: {
        operationId: 'countLeads',
        summary: `Number of leads that match a filter, at most ${printCount(MAX_COUNTED)}`,
        tags: ['leads'],
        querystring: leadCountQuery,
        response: responses(z.object({ leads: count, at_least: atLeast })),
      },
    },
    async ({ query }) => {
      const { count: leads, isAtLeast } = await operations.countLeads(query);
      return { leads, at_least: isAtLeast };
    },
  );
  app.get(
    '/leads/:source/:lead',
    {
      config: { operation: 'lead' },
      schema: {
        operationId: 'lead',
        summary: 'History of one lead: versions, deliveries and attempts',
        tags: ['leads'],
        params: leadPath,
        response: responses(LeadDetail, 404),
      },
    },
    async ({ params: { source, lead } }) => (await operations.lead(source, lead)) ?? noSuchLead(source, lead),
  );
  app.get(
    '/deliveries/count',
    {
      config: { operation: 'countDeliveries' },
      schema: {
        operationId: 'countDeliveries',
        summary: `Number of deliveries that match a filter, at most ${printCount(MAX_COUNTED)}`,
        tags: ['deliveries'],
        querystring: deliveryCountQuery,
        response: responses(z.object({ deliveries: count, at_least: atLeast })),
      },
    },
    async ({ query }) => {
      const { count: deliveries, isAtLeast } = await operations.countDeliveries(query);
      return { deliveries, at_least: isAtLeast };
    },
  );
  app.get(
    '/deliveries/reasons',
    {
      config: { operation: 'failureReasons' },
      schema: {
        operationId: 'failureReasons',
        summary: 'Dead and failed deliveries of all sinks by reason',
        description:
          'Counts the newest dead deliveries of each sink, and the pending ones that failed and are retried first. `complete` says whether these are all. `leadsync deliveries --reasons --json` prints the same.',
        tags: ['deliveries'],
        response: responses(FailureReasons),
      },
    },
    () => operations.failureReasons(),
  );
  app.get(
    '/sinks',
    {
      config: { operation: 'sinks' },
      schema: {
        operationId: 'sinks',
        summary: 'State, backlog, address and attempts of the last hour of every sink',
        tags: ['sinks'],
        response: responses(z.object({ rows: z.array(SinkRow) })),
      },
    },
    async () => ({ rows: [...(await operations.sinks())] }),
  );
  app.get(
    '/sinks/:sink',
    {
      config: { operation: 'sink' },
      schema: {
        operationId: 'sink',
        summary: 'One sink: its circuit breaker, success rate, durations, errors, backlog and last attempts',
        description:
          'Counts attempts of the last hour, day or week. `leadsync status SINK --json` prints the same.',
        tags: ['sinks'],
        params: sinkPath,
        querystring: sinkQuery,
        response: responses(SinkDetail, 404),
      },
    },
    async ({ params: { sink }, query: { period } }) => {
      const detail = await operations.sink(sink, period);
      if (detail === undefined) return noSuchSink(sink, operations);
      return may('configuration') ? detail : withoutOrigins(detail);
    },
  );
  app.get(
    '/alerts',
    {
      config: { operation: 'alerts' },
      schema: {
        operationId: 'alerts',
        summary: 'Conditions for alerts that hold or held recently, who was notified, and the next notice',
        description:
          'leadsync evaluates the conditions every 15 s, and only if `alerts.to` names a destination.',
        tags: ['watch'],
        response: responses(Alerts),
      },
    },
    () => operations.alerts(),
  );
  app.get(
    '/expressions',
    {
      config: { operation: 'expressionLanguage' },
      schema: {
        operationId: 'expressionLanguage',
        summary: 'Variables and functions that an expression can use',
        tags: ['configuration'],
        response: responses(ExpressionLanguage),
      },
    },
    () => operations.expressionLanguage(),
  );
  app.get(
    '/configuration',
    {
      config: { operation: 'configuration' },
      schema: {
        operationId: 'configuration',
        summary: 'The configuration in force, with the origin of each value; secrets are masked',
        tags: ['configuration'],
        response: responses(Configuration),
      },
    },
    () => operations.configuration(),
  );
  app.get(
    '/configuration/changes',
    {
      config: { operation: 'previewReload' },
      schema: {
        operationId: 'previewReload',
        summary: 'Every option that a reload would change, with the value in force and the value in the file',
        description: 'Also compares secrets, but does not show them. Changes nothing.',
        tags: ['configuration'],
        response: responses(ReloadPreview),
      },
    },
    () => operations.previewReload(true),
  );
}

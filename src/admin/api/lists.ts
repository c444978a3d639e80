import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { AUDIT_COLUMNS, AuditRow } from '../contract/audit.ts';
import { DELIVERY_COLUMNS, DeliveryRow } from '../contract/deliveries.ts';
import { LEAD_COLUMNS, LeadRow } from '../contract/leads.ts';
import { LOG_COLUMNS, LogLine } from '../contract/log.ts';
import type { Operations, PageRequest } from '../contract/operations.ts';
import { POLL_COLUMNS, PollRow } from '../contract/polls.ts';
import { REJECTED_COLUMNS, RejectedRow } from '../contract/rejected.ts';
import { pageOf } from '../contract/values.ts';
import { HAS_CSV, listed } from './as-csv.ts';
import { auditQuery, deliveryQuery, leadQuery, logQuery, pollQuery, rejectedQuery } from './inputs.ts';
import { responses } from './outputs.ts';

/** Adds the lists that the pages offer as CSV files, too. None of them returns a lead's content. */
export function addLists(scope: FastifyInstance, operations: Operations): void {
  const app = scope.withTypeProvider<ZodTypeProvider>();
  app.get(
    '/leads',
    {
      config: { operation: 'leads' },
      schema: {
        operationId: 'leads',
        summary: 'List leads without their content, in the order in which they were first seen',
        description: `Filters by id, source, service, time, and whether the source still lists the lead. \`since\` and \`until\` compare the time when the lead was first seen. With a service and without an id, they compare the time when the lead came to the service; with \`listing=gone\`, the time of the first complete listing without the lead. \`order\` sorts by the same time. ${HAS_CSV}`,
        tags: ['leads'],
        querystring: leadQuery,
        response: responses(pageOf(LeadRow)),
      },
    },
    (request, reply) => {
      const { limit, after, order, ...search } = request.query;
      const rows = (page: PageRequest) => operations.leads(search, page);
      return listed(request, reply, 'leads', { rows, columns: LEAD_COLUMNS, page: { limit, after, order } });
    },
  );
  app.get(
    '/deliveries',
    {
      config: { operation: 'deliveries' },
      schema: {
        operationId: 'deliveries',
        summary: 'List deliveries, in the order in which they were owed',
        description: HAS_CSV,
        tags: ['deliveries'],
        querystring: deliveryQuery,
        response: responses(pageOf(DeliveryRow)),
      },
    },
    (request, reply) => {
      const { limit, after, order, ...filter } = request.query;
      const rows = (page: PageRequest) => operations.deliveries(filter, page);
      return listed(request, reply, 'deliveries', {
        rows,
        columns: DELIVERY_COLUMNS,
        page: { limit, after, order },
      });
    },
  );
  app.get(
    '/polls',
    {
      config: { operation: 'polls' },
      schema: {
        operationId: 'polls',
        summary: 'List polls',
        description: HAS_CSV,
        tags: ['watch'],
        querystring: pollQuery,
        response: responses(pageOf(PollRow)),
      },
    },
    (request, reply) => {
      const { limit, after, order, ...filter } = request.query;
      const rows = (page: PageRequest) => operations.polls(filter, page);
      return listed(request, reply, 'polls', { rows, columns: POLL_COLUMNS, page: { limit, after, order } });
    },
  );
  app.get(
    '/log',
    {
      config: { operation: 'log' },
      schema: {
        operationId: 'log',
        summary: 'The last lines of the log, newest first',
        description: HAS_CSV,
        tags: ['watch'],
        querystring: logQuery,
        response: responses(z.object({ rows: z.array(LogLine).readonly() })),
      },
    },
    (request, reply) => {
      const rows = async () => ({ rows: await operations.log(request.query), next: null });
      const page = { limit: Number.POSITIVE_INFINITY };
      return listed(request, reply, 'log', { rows, columns: LOG_COLUMNS, page });
    },
  );
  app.get(
    '/rejected-leads',
    {
      config: { operation: 'rejected' },
      schema: {
        operationId: 'rejected',
        summary: 'List leads that could not be recorded, without their text',
        description: `\`state=open\`: rejected leads in the last complete listing. \`state=gone\`: rejected leads that are no longer in it. \`state=resolved\`: leads that leadsync has recorded since. ${HAS_CSV}`,
        tags: ['leads'],
        querystring: rejectedQuery,
        response: responses(pageOf(RejectedRow)),
      },
    },
    (request, reply) => {
      const { limit, after, order, ...filter } = request.query;
      const rows = (page: PageRequest) => operations.rejected(filter, page);
      return listed(request, reply, 'rejected', {
        rows,
        columns: REJECTED_COLUMNS,
        page: { limit, after, order },
      });
    },
  );
  app.get(
    '/audit',
    {
      config: { operation: 'audit' },
      schema: {
        operationId: 'audit',
        summary: 'List the audit log, newest first: who did what',
        description: `If a filter matches few lines, a page can be shorter than its limit, or even empty, although \`next\` leads to older lines. ${HAS_CSV}`,
        tags: ['watch'],
        querystring: auditQuery,
        response: responses(pageOf(AuditRow)),
      },
    },
    (request, reply) => {
      const { limit, after, ...filter } = request.query;
      const rows = (page: PageRequest) => operations.audit(filter, page);
      return listed(request, reply, 'audit', { rows, columns: AUDIT_COLUMNS, page: { limit, after } });
    },
  );
}

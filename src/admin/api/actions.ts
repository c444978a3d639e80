import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { ReloadResult, TestResult } from '../contract/configuration.ts';
import { Content, FoundLeads } from '../contract/leads.ts';
import type { Operations } from '../contract/operations.ts';
import { LeadPreviews } from '../contract/previews.ts';
import { RejectedContent } from '../contract/rejected.ts';
import {
  DEFAULT_PAUSE_REASON,
  expressionBody,
  findBody,
  leadPath,
  pauseBody,
  rejectedPath,
  sinkPath,
  sourcePath,
  versionPath,
} from './inputs.ts';
import { noSuchLead, noSuchRejection, noSuchSink, noSuchSource, noSuchVersion } from './not-found.ts';
import { Changed, Requested, responses, Tried } from './outputs.ts';

/** Maximum size of a body with an expression, in bytes. Leaves room for escapes. */
const MAX_EXPRESSION_BYTES = 64 * 1024;

/** Adds the routes that change something or return personal data. The audit log records each of these actions before it happens. */
export function addActions(scope: FastifyInstance, operations: Operations): void {
  const app = scope.withTypeProvider<ZodTypeProvider>();
  app.post(
    '/leads/find',
    {
      config: { operation: 'findLeads' },
      schema: {
        operationId: 'findLeads',
        summary: 'Find leads by a part of the name, email address or phone number (personal data)',
        description:
          'Searches the newest lead versions first, a limited number in each request. Repeat the request with `next` as `after` until `next` is null, even after an answer without rows.',
        tags: ['leads'],
        body: findBody,
        response: responses(FoundLeads),
      },
    },
    ({ body: { limit, after, ...search } }) => operations.findLeads(search, { limit, after }),
  );
  app.post(
    '/leads/:source/:lead/reveal',
    {
      config: { operation: 'reveal' },
      schema: {
        operationId: 'reveal',
        summary: "Return a lead's content and the answers of destinations (personal data)",
        tags: ['leads'],
        params: leadPath,
        response: responses(Content, 404),
      },
    },
    async ({ params: { source, lead } }) =>
      (await operations.reveal(source, lead)) ?? noSuchLead(source, lead),
  );
  app.post(
    '/leads/:source/:lead/versions/:version/reveal',
    {
      config: { operation: 'reveal' },
      schema: {
        operationId: 'revealVersion',
        summary: 'Return the content of one version and of the previous version (personal data)',
        tags: ['leads'],
        params: versionPath,
        response: responses(Content, 404),
      },
    },
    async ({ params: { source, lead, version } }) =>
      (await operations.reveal(source, lead, version)) ?? noSuchVersion(source, lead, version),
  );
  app.post(
    '/leads/:source/:lead/preview',
    {
      config: { operation: 'previews' },
      schema: {
        operationId: 'preview',
        summary: 'Return what each sink would get for a lead now (personal data); sends nothing',
        description:
          'The request, file or row of each sink as `leadsync preview` makes it, with secrets masked.',
        tags: ['leads'],
        params: leadPath,
        response: responses(LeadPreviews, 404),
      },
    },
    async ({ params: { source, lead } }) =>
      (await operations.previews(source, lead)) ?? noSuchLead(source, lead),
  );
  app.post(
    '/rejected-leads/:id/reveal',
    {
      config: { operation: 'revealRejected' },
      schema: {
        operationId: 'revealRejected',
        summary: 'Return the text of a rejected lead (personal data)',
        tags: ['leads'],
        params: rejectedPath,
        response: responses(RejectedContent, 404),
      },
    },
    async ({ params: { id } }) => (await operations.revealRejected(id)) ?? noSuchRejection(id),
  );
  app.post(
    '/expressions/try',
    {
      bodyLimit: MAX_EXPRESSION_BYTES,
      config: { operation: 'tryExpression' },
      schema: {
        operationId: 'tryExpression',
        summary:
          'Evaluate an expression for a lead (personal data) or the sample lead; stores and sends nothing',
        tags: ['leads'],
        body: expressionBody,
        response: responses(Tried, 404),
      },
    },
    async ({ body: { expression, sink, source = '', lead } }) => {
      const of = lead === undefined ? undefined : { source, lead };
      return { result: await operations.tryExpression({ expression, sink, lead: of }) };
    },
  );
  app.post(
    '/sources/:source/poll',
    {
      config: { operation: 'poll' },
      schema: {
        operationId: 'poll',
        summary: 'Poll a source now',
        description: 'Answers when the poll begins. `GET /polls?source=…` shows its result.',
        tags: ['watch'],
        params: sourcePath,
        response: responses(Requested, 404),
      },
    },
    async ({ params: { source } }) => {
      const begun = await operations.poll(source);
      if (begun === undefined) return noSuchSource(source);
      return { source, poll: begun ? ('started' as const) : ('running' as const) };
    },
  );
  app.post(
    '/sinks/:sink/pause',
    {
      config: { operation: 'pause' },
      schema: {
        operationId: 'pause',
        summary: 'Pause a sink; its backlog and the pause survive restarts',
        tags: ['sinks'],
        params: sinkPath,
        body: pauseBody,
        response: responses(Changed, 404),
      },
    },
    async ({ params: { sink }, body }) =>
      (await operations.pause(sink, body?.reason ?? DEFAULT_PAUSE_REASON))
        ? { sink }
        : noSuchSink(sink, operations),
  );
  app.post(
    '/sinks/:sink/resume',
    {
      config: { operation: 'resume' },
      schema: {
        operationId: 'resume',
        summary: 'Resume a paused sink, or probe a held sink now',
        description:
          'If the sink is held, its next probe, a single batch, is due now; all other leads wait for its result. A failed probe keeps the sink held.',
        tags: ['sinks'],
        params: sinkPath,
        response: responses(Changed, 404),
      },
    },
    async ({ params: { sink } }) =>
      (await operations.resume(sink)) ? { sink } : noSuchSink(sink, operations),
  );
  app.post(
    '/sinks/:sink/test',
    {
      config: { operation: 'test' },
      schema: {
        operationId: 'test',
        summary: 'Send a sink one event that is marked as a test',
        tags: ['sinks'],
        params: sinkPath,
        response: responses(TestResult, 404),
      },
    },
    async ({ params: { sink } }) => (await operations.test(sink)) ?? noSuchSink(sink, operations),
  );
  app.post(
    '/reload',
    {
      config: { operation: 'reload' },
      schema: {
        operationId: 'reload',
        summary: 'Reload the configuration file',
        description:
          'An invalid file changes nothing: `applied` is false, and `faults` lists every fault. If leadsync cannot apply a valid file, for example because the ledger is locked, `failure` says why.',
        tags: ['configuration'],
        response: responses(ReloadResult),
      },
    },
    () => operations.reload(),
  );
}

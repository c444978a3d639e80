import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { Content, ReloadResult, TestResult } from '../contract/model.ts';
import type { Operations } from '../contract/operations.ts';
import {
  DEFAULT_PAUSE_REASON,
  leadPath,
  pauseBody,
  replayBody,
  retryBody,
  sinkPath,
  versionPath,
} from './inputs.ts';
import { noSuchLead, noSuchSink, noSuchVersion } from './not-found.ts';
import { responses } from './outputs.ts';

const Done = z.object({ deliveries: z.int().nonnegative().describe('How many deliveries are due now.') });
const Changed = z.object({ sink: z.string() });

/** Adds what changes something, and what shows personal data. Each is written to the audit log before it is done. */
export function addActions(scope: FastifyInstance, operations: Operations): void {
  const app = scope.withTypeProvider<ZodTypeProvider>();
  app.post(
    '/leads/:source/:lead/reveal',
    {
      schema: {
        operationId: 'reveal',
        summary: "A lead's content, and what destinations answered: personal data",
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
      schema: {
        operationId: 'revealVersion',
        summary: 'The same of one of its versions, with what the version before said: personal data',
        tags: ['leads'],
        params: versionPath,
        response: responses(Content, 404),
      },
    },
    async ({ params: { source, lead, version } }) =>
      (await operations.reveal(source, lead, version)) ?? noSuchVersion(source, lead, version),
  );
  app.post(
    '/leads/:source/:lead/replay',
    {
      schema: {
        operationId: 'replay',
        summary: 'Sends a lead, as it is now, to a sink once more',
        description: 'As a new delivery that is marked as a replay, delivered before or not.',
        tags: ['leads'],
        params: leadPath,
        body: replayBody,
        response: responses(Done, 404),
      },
    },
    async ({ params: { source, lead }, body: { sink } }) => {
      const deliveries = await operations.replay(sink, source, lead);
      return deliveries > 0 ? { deliveries } : noSuchLead(source, lead);
    },
  );
  app.post(
    '/deliveries/retry',
    {
      schema: {
        operationId: 'retry',
        summary: 'Makes dead or waiting deliveries due now, with a fresh retry schedule',
        description: 'What is being attempted at this moment is left alone.',
        tags: ['deliveries'],
        body: retryBody,
        response: responses(Done),
      },
    },
    async ({ body: { all: _, ...filter } }) => ({ deliveries: await operations.retry(filter) }),
  );
  app.post(
    '/sinks/:sink/pause',
    {
      schema: {
        operationId: 'pause',
        summary: 'Stops deliveries to a sink; its backlog is kept, also over restarts',
        tags: ['sinks'],
        params: sinkPath,
        body: pauseBody,
        response: responses(Changed, 404),
      },
    },
    async ({ params: { sink }, body }) =>
      (await operations.pause(sink, body?.reason ?? DEFAULT_PAUSE_REASON)) ? { sink } : noSuchSink(sink),
  );
  app.post(
    '/sinks/:sink/resume',
    {
      schema: {
        operationId: 'resume',
        summary: 'Goes on after a pause, or tries a held sink now',
        tags: ['sinks'],
        params: sinkPath,
        response: responses(Changed, 404),
      },
    },
    async ({ params: { sink } }) => ((await operations.resume(sink)) ? { sink } : noSuchSink(sink)),
  );
  app.post(
    '/sinks/:sink/test',
    {
      schema: {
        operationId: 'test',
        summary: 'Sends one clearly marked test event to a sink',
        tags: ['sinks'],
        params: sinkPath,
        response: responses(TestResult, 404),
      },
    },
    async ({ params: { sink } }) => (await operations.test(sink)) ?? noSuchSink(sink),
  );
  app.post(
    '/reload',
    {
      schema: {
        operationId: 'reload',
        summary: "Puts the configuration's present text in force",
        description: 'One that is not valid changes nothing; `applied` is false then, with every fault.',
        tags: ['configuration'],
        response: responses(ReloadResult),
      },
    },
    () => operations.reload(),
  );
}

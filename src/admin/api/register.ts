import type { FastifyInstance } from 'fastify';
import { serializerCompiler, validatorCompiler } from 'fastify-type-provider-zod';
import type { Operations } from '../contract/operations.ts';
import { requestErrorFor, sendError } from '../http/answer.ts';
import { addActions } from './actions.ts';
import { addReads } from './reads.ts';

/** The longest body that the API takes. */
const MAX_BODY_BYTES = 8 * 1024;

/** Adds `/api/v1/…`. A fault that nobody foresaw is told to `onFault`. */
export async function addApi(
  app: FastifyInstance,
  operations: Operations,
  onFault: (error: unknown) => void,
): Promise<void> {
  await app.register(
    async (scope) => {
      scope.setValidatorCompiler(validatorCompiler);
      scope.setSerializerCompiler(serializerCompiler);
      scope.setErrorHandler((error, request, reply) =>
        sendError(request, reply, requestErrorFor(error, onFault)),
      );
      scope.removeContentTypeParser('text/plain'); // JSON alone, which no form of another site can send
      scope.addHook('onRoute', (route) => {
        route.bodyLimit = MAX_BODY_BYTES;
      });
      addReads(scope, operations);
      addActions(scope, operations);
    },
    { prefix: '/api/v1' },
  );
}

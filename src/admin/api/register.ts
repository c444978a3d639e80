import type { FastifyInstance, RouteOptions } from 'fastify';
import { serializerCompiler, validatorCompiler } from 'fastify-type-provider-zod';
import type { Operations } from '../contract/operations.ts';
import { neededRole } from '../contract/rights.ts';
import { requestErrorFor, sendError } from '../http/send-error.ts';
import { addActions } from './actions.ts';
import { addDeliveryActions } from './delivery-actions.ts';
import { addExportActions } from './export-actions.ts';
import { addLists } from './lists.ts';
import { addReads } from './reads.ts';

/** Maximum size of a request body, in bytes. */
const MAX_BODY_BYTES = 8 * 1024;

/** Adds the API under `/api/v1`. Reports unexpected errors to `onFault`. */
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
      scope.removeContentTypeParser('text/plain'); // accepts JSON only, which a form of another site cannot send
      scope.addHook('onRoute', (route) => {
        route.bodyLimit ??= MAX_BODY_BYTES;
        describeRole(route);
      });
      addReads(scope, operations);
      addLists(scope, operations);
      addActions(scope, operations);
      addDeliveryActions(scope, operations);
      addExportActions(scope, operations);
    },
    { prefix: '/api/v1' },
  );
}

/** Adds the role that a route needs to its description (https://spec.openapis.org/oas/v3.1.0#security-requirement-object). */
function describeRole({ config, schema = {} }: RouteOptions): void {
  if (config?.operation === undefined) return;
  const role = neededRole(config.operation);
  const texts = [schema.description, `Needs the role ${role}.`].filter(Boolean);
  Object.assign(schema, { description: texts.join(' '), security: [{ token: [role] }] });
}

import swagger from '@fastify/swagger';
import Fastify from 'fastify';
import { jsonSchemaTransform } from 'fastify-type-provider-zod';
import type { Operations } from '../contract/operations.ts';
import { addApi } from './register.ts';

/**
 * Returns the OpenAPI document of the API (https://spec.openapis.org/oas/v3.1.0), generated from its routes. Adds the routes to a separate
 * server that does not listen, so that the admin server does not need the package that generates the document.
 */
export async function describeApi(version: string): Promise<string> {
  const app = Fastify();
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'leadsync',
        version,
        description:
          'Everything that the pages show and do. To get the next page of a list, send the `next` of an answer as `after`.',
      },
      servers: [{ url: '/' }],
      tags: [
        { name: 'watch', description: 'State and problems' },
        { name: 'leads', description: 'The history of each lead' },
        { name: 'deliveries', description: 'What is owed to each sink' },
        { name: 'sinks', description: 'Destinations of leads' },
        { name: 'configuration', description: 'The configuration in force' },
      ],
      components: {
        securitySchemes: {
          token: {
            type: 'http',
            scheme: 'bearer',
            description:
              'The value of admin.token, or of one of admin.tokens, whose role decides what it may do. Not needed on loopback if no token is configured.',
          },
        },
      },
      security: [{ token: [] }],
    },
    transform: jsonSchemaTransform,
  });
  await addApi(app, {} as Operations, () => undefined);
  await app.ready();
  const text = JSON.stringify(app.swagger());
  await app.close();
  return text;
}

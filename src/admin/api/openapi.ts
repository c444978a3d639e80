import swagger from '@fastify/swagger';
import Fastify from 'fastify';
import { jsonSchemaTransform } from 'fastify-type-provider-zod';
import type { Operations } from '../contract/operations.ts';
import { addApi } from './register.ts';

/**
 * The OpenAPI document of the API (https://spec.openapis.org/oas/v3.1.0), drawn from its routes. Made by a server of its own that
 * listens nowhere, so that nobody carries the machinery for it who never asks.
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
          'What the pages show and do. Lists go on with `after`, given the `next` of the answer before.',
      },
      servers: [{ url: '/' }],
      tags: [
        { name: 'watch', description: 'How it is' },
        { name: 'leads', description: 'What became of each lead' },
        { name: 'deliveries', description: 'What is owed to whom' },
        { name: 'sinks', description: 'Where leads go' },
        { name: 'configuration', description: 'What is in force' },
      ],
      components: {
        securitySchemes: {
          token: {
            type: 'http',
            scheme: 'bearer',
            description: 'The value of admin.token; nothing on loopback without one.',
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

import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import type { Operations } from '../contract/operations.ts';
import { backupPath, exportPath } from './inputs.ts';
import { noSuchExport } from './not-found.ts';
import { RequestedBackup, RequestedExport, responses } from './outputs.ts';

/** Adds the routes that run a scheduled export or backup before it is due. */
export function addExportActions(scope: FastifyInstance, operations: Operations): void {
  const app = scope.withTypeProvider<ZodTypeProvider>();
  app.post(
    '/exports/:export/run',
    {
      config: { operation: 'runExport' },
      schema: {
        operationId: 'runExport',
        summary: 'Run a scheduled export now',
        description: DESCRIPTION,
        tags: ['watch'],
        params: exportPath,
        response: responses(RequestedExport, 404),
      },
    },
    async ({ params }) => ({ ...params, run: await request('export', params.export) }),
  );
  app.post(
    '/backups/:backup/run',
    {
      config: { operation: 'runExport' },
      schema: {
        operationId: 'runBackup',
        summary: 'Make a scheduled backup now',
        description: DESCRIPTION,
        tags: ['watch'],
        params: backupPath,
        response: responses(RequestedBackup, 404),
      },
    },
    async ({ params }) => ({ ...params, run: await request('backup', params.backup) }),
  );

  async function request(what: 'export' | 'backup', name: string) {
    const isRequested = (await operations.runExport(what, name)) ?? noSuchExport(what, name);
    return isRequested ? ('requested' as const) : ('running' as const);
  }
}

const DESCRIPTION =
  'Answers before the run begins: exports and backups run one at a time. The run counts as a scheduled one, which also removes the oldest file beyond `keep`. `running` means that it is running or was requested already. `GET /overview` shows its state and its result.';

import { z } from 'zod';
import { size } from '../../platform/options/option-types.ts';
import { databaseUrl, schemaName } from '../../postgres/options.ts';
import { DEFAULT_SERVER } from '../contract/config.ts';

/** Limits of `ledger.connections`. With one connection, a recording would wait for every settlement. */
const CONNECTIONS = { least: 2, most: 50 } as const;

/** The schema of the section `ledger`. */
export const ledgerOptions = z
  .strictObject({
    create: z
      .enum(['ask', 'always', 'never'])
      .default('ask')
      .describe(
        'Whether leadsync creates a missing ledger. `ask`: only if there is no sign of an earlier one. If there is, leadsync exits and says what it found, because with a new ledger every lead would go to every sink again. If sinks or Redis do not answer yet, leadsync waits for them before it decides. `always`: leadsync creates it without checking. `never`: only `leadsync ledger accept` creates it, because this installation is not new.',
      ),
    url: databaseUrl()
      .optional()
      .describe(
        'Preview: keeps the ledger in a PostgreSQL database, version 14 or newer, instead of in `data_dir`: `postgresql://user:password@host:5432/database`. Append `?sslmode=verify-full` for TLS. An existing ledger cannot be moved there, and leadsync makes no backups of it. docs/deploying.md explains how to set it up.',
      ),
    schema: schemaName()
      .optional()
      .describe(
        `The schema in that database in which leadsync keeps the ledger; created if missing. Nothing else may use it, and each installation needs its own. Absent: \`${DEFAULT_SERVER.schema}\`.`,
      ),
    connections: z
      .int()
      .min(CONNECTIONS.least)
      .max(CONNECTIONS.most)
      .optional()
      .describe(
        `Maximum number of connections to that database on which a process writes: ${CONNECTIONS.least} to ${CONNECTIONS.most}. Each process has up to 16 more, for example for the pages. Absent: ${DEFAULT_SERVER.connections}.`,
      ),
    min_free: size()
      .prefault('500mb')
      .describe(
        'leadsync warns (`disk_low`) while the disk of `data_dir` has less free space than this. When the disk of the ledger is full, leadsync neither polls nor delivers.',
      ),
  })
  .superRefine((ledger, context) => {
    if (ledger.url !== undefined) return;
    for (const option of ['schema', 'connections'] as const)
      if (ledger[option] !== undefined)
        context.addIssue({ code: 'custom', message: 'has no effect without ledger.url', path: [option] });
  })
  .transform(({ url, schema, connections, ...others }) => ({
    ...others,
    server: url && {
      url,
      schema: schema ?? DEFAULT_SERVER.schema,
      connections: connections ?? DEFAULT_SERVER.connections,
    },
  }))
  .prefault({})
  .describe('The record of leads, deliveries and attempts: by default `ledger.db` in `data_dir`.');

import { z } from 'zod';
import { builtOnce } from '../../platform/options/built-once.ts';
import { duration } from '../../platform/options/option-types.ts';
import { databaseUrl, schemaName } from '../../postgres/options.ts';

/** Returns the schema of the options of a postgres sink, without those common to every sink. */
export const postgresOptions = builtOnce(() =>
  z.strictObject({
    url: databaseUrl().describe(
      'The address of the database: `postgresql://user:password@host:5432/database`. Append `?sslmode=verify-full` for TLS.',
    ),
    schema: schemaName()
      .default('leadsync')
      .describe('The schema that leadsync creates its tables in. Nothing else should use it.'),
    mirror: z
      .union([z.literal(false), duration()], { error: 'must be a duration such as 10s, or false' })
      .prefault('10s')
      .describe(
        'How often leadsync copies polls, deliveries, attempts, versions and rejected leads to this schema, on a separate connection. `false` turns the mirror off.',
      ),
    raw: z
      .boolean()
      .default(false)
      .describe(
        'Whether `_leadsync_raw` holds the JSON of every lead as received. If not, it holds the JSON only of leads with something that no other column holds, which halves the size of `leads`.',
      ),
  }),
);

import { z } from 'zod';
import { builtOnce } from '../../platform/options/built-once.ts';
import { secret } from '../../platform/options/option-types.ts';
import { readAddress } from './connection/address.ts';

/** Returns the schema of the options of a mysql sink, without those common to every sink. */
export const mysqlOptions = builtOnce(() =>
  z.strictObject({
    url: secret()
      .superRefine((url, context) => {
        const address = readAddress(url.reveal());
        if (typeof address === 'string') context.addIssue({ code: 'custom', message: address });
      })
      .describe(
        'The address of the database: `mysql://user:password@host:3306/database`. Append `?sslmode=verify-full` for TLS, `?socket=/run/mysqld/mysqld.sock` for a socket.',
      ),
    prefix: z
      .string()
      .regex(/^[A-Za-z0-9_]{0,40}$/, 'must have up to 40 letters, digits or _')
      .default('')
      .describe(
        'Prefix for the names of the tables `leads` and `lead_answers`. Use it if the database already has tables with these names.',
      ),
    raw: z
      .boolean()
      .default(false)
      .describe(
        'Whether `_leadsync_raw` holds the JSON of every lead as received. If not, it holds the JSON only of leads with something that no other column holds, which halves the size of `leads`.',
      ),
  }),
);

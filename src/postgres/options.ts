import { z } from 'zod';
import { secret } from '../platform/options/option-types.ts';
import { isSchemaName } from './identifier.ts';

/** Returns the schema of the address of a database: `postgresql://user:password@host:5432/database`. It is a secret, because it may contain a password. */
export function databaseUrl() {
  return secret().refine(
    (url) => isDatabaseUrl(url.reveal()),
    'must be an address such as postgresql://user:password@host:5432/database',
  );
}

/** Returns the schema of the name of a schema that leadsync can create. */
export function schemaName() {
  return z
    .string()
    .refine(isSchemaName, 'must have up to 63 letters, digits or _, and not begin with a digit or pg_');
}

function isDatabaseUrl(address: string): boolean {
  return /^postgres(ql)?:\/\//.test(address) && URL.canParse(address);
}

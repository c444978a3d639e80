import { randomBytes } from 'node:crypto';

/** The Redis that the tests may use. They must keep to keys of their own: see `uniqueName`. */
export function requireRedisUrl(): string {
  return required('REDIS_URL', 'a Redis', 'redis://127.0.0.1:6379');
}

/** The PostgreSQL database that the tests may use. They must keep to schemas of their own: see `uniqueName`. */
export function requireDatabaseUrl(): string {
  return required('DATABASE_URL', 'a PostgreSQL database', 'postgresql://user@127.0.0.1/database');
}

/** A name that nobody else uses, good for a schema, a database, a key prefix: `test_queue_9f86d081`. */
export function uniqueName(what: string): string {
  return `test_${what}_${randomBytes(4).toString('hex')}`;
}

function required(variable: string, what: string, example: string): string {
  const url = process.env[variable];
  if (url) return url;
  throw new Error(
    `This test needs ${what}, and ${variable} is not set. Run \`npm test\` (or \`npm test -- test/this-folder\`), ` +
      `which starts one, or set ${variable}, for example to ${example}.`,
  );
}

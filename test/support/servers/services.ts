import { randomBytes } from 'node:crypto';

/** Returns the URL of the shared Redis. Each test keeps to its own keys: see `uniqueName`. */
export function requireRedisUrl(): string {
  return required('REDIS_URL', 'a Redis', 'redis://127.0.0.1:6379');
}

/** Returns the URL of the shared PostgreSQL database. Each test keeps to its own schemas: see `uniqueName`. */
export function requireDatabaseUrl(): string {
  return required('DATABASE_URL', 'a PostgreSQL database', 'postgresql://user@127.0.0.1/database');
}

/** Returns the URL of the shared MySQL or MariaDB, for a user who may create databases and users. Each test has databases of its own. */
export function requireMysqlUrl(): string {
  return required('MYSQL_URL', 'a MySQL or MariaDB', 'mysql://root@127.0.0.1/mysql');
}

/** Returns a unique name for a schema, a database or a key prefix: `test_queue_9f86d081`. */
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

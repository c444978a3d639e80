import { createConnection } from 'mysql2/promise';
import type { z } from 'zod';
import { MysqlSink } from '../../../src/sinks/mysql/mysql.ts';
import { mysql } from '../../../src/sinks/mysql/mysql-type.ts';
import type { Sink } from '../../../src/sinks/sink.ts';
import type { SinkParts } from '../../../src/sinks/sink-type.ts';
import { requireMysqlUrl, uniqueName } from '../../support/servers/services.ts';
import { someParts } from '../some-parts.ts';

type Row = Record<string, unknown>;

/** A database of a test's own, and a way to look into it. */
export interface Database {
  readonly name: string;
  readonly url: string;
  /** Runs SQL in the database, as an administrator, with the server's own settings. */
  query(sql: string, values?: unknown[]): Promise<Row[]>;
  /** Creates a user with these rights on the database, and returns the address for that user. */
  addUser(rights: string): Promise<{ user: string; url: string }>;
  /** Drops the database and its users. */
  close(): Promise<void>;
}

/** Creates an empty database, on the server that the tests share or on another one. */
export async function startDatabase(server = requireMysqlUrl()): Promise<Database> {
  const name = uniqueName('sink');
  const users: string[] = [];
  const admin = await createConnection({
    uri: server,
    supportBigNumbers: true,
    dateStrings: true,
    jsonStrings: true,
    multipleStatements: true,
  });
  // The server may have defaults that would end this connection, or keep its transaction open.
  await admin.query('SET SESSION wait_timeout = 28800, autocommit = 1');
  await admin.query(`CREATE DATABASE ${name} CHARACTER SET utf8mb4; USE ${name}`);
  const url = new URL(server);
  url.pathname = `/${name}`;
  return {
    name,
    url: url.href,
    query: async (sql, values) => (await admin.query(sql, values))[0] as Row[],
    addUser: async (rights) => {
      const user = uniqueName('user').slice(0, 32);
      await admin.query(
        `CREATE USER ${user}@'%' IDENTIFIED BY 'p@ss'; GRANT ${rights} ON ${name}.* TO ${user}@'%'`,
      );
      users.push(user);
      const own = new URL(url);
      [own.username, own.password] = [user, 'p%40ss'];
      return { user, url: own.href };
    },
    close: async () => {
      for (const user of users) await admin.query(`DROP USER ${user}@'%'`);
      await admin.query(`DROP DATABASE IF EXISTS ${name}`);
      await admin.end();
    },
  };
}

/** Opens a MySQL sink from options as they stand in the YAML. */
export function openMysql(options: z.input<typeof mysql.options>, parts: Partial<SinkParts> = {}): Sink {
  return new MysqlSink(mysql.options.parse(options), someParts({ batchMax: 1000, ...parts }));
}

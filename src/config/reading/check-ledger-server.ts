import type { z } from 'zod';
import { Secret } from '../../platform/options/secret.ts';
import type { LedgerServer, SinkConfig } from '../contract/config.ts';
import type { daemonOptions } from '../options/daemon-options.ts';
import { isMap } from './purpose.ts';
import type { TreeValidator } from './validate-tree.ts';
import type { YamlTree } from './yaml-tree.ts';

type Options = z.output<typeof daemonOptions>;

/** Reports the options that need a ledger in a file. To ignore them would be worse: a backup or a mirror would be missing when it is needed. */
export function refuseFileOptions(
  { backups }: Pick<Options, 'backups'>,
  tree: YamlTree,
  validator: TreeValidator,
): void {
  if (Object.keys(backups).length > 0)
    validator.fault(
      ['backups'],
      'cannot back up a ledger in PostgreSQL',
      "remove it, and back the database up with pg_dump or the server's own backups",
    );
  const sinks = tree.valueAt(['sinks']);
  for (const [name, sink] of Object.entries(isMap(sinks) ? sinks : {}))
    if (isMap(sink) && sink['type'] === 'postgres' && (sink['mirror'] ?? false) !== false)
      validator.fault(
        ['sinks', name, 'mirror'],
        'copies only a ledger in a file',
        'remove it: the schema of the ledger has the same tables',
      );
}

/** Reports that tokens would be readable in the database, which more people can read than a file of one user. */
export function requireTokenKey({ tokens }: Pick<Options, 'tokens'>, validator: TreeValidator): void {
  if (tokens.encryption_key !== undefined) return;
  validator.fault(
    ['ledger', 'url'],
    'needs tokens.encryption_key, because the tokens of the sources are stored in the database',
    'set it to 32 random bytes from `openssl rand -base64 32`, the same on every machine',
  );
}

/** Reports sinks that would create their tables in the schema of the ledger. */
export function refuseSharedSchema(
  server: LedgerServer,
  sinks: readonly Pick<SinkConfig, 'name' | 'options'>[],
  validator: TreeValidator,
): void {
  for (const { name, options } of sinks) {
    const { url, schema } = options;
    if (url instanceof Secret && schema === server.schema && databaseOf(url) === databaseOf(server.url))
      validator.fault(
        ['sinks', name, 'schema'],
        'is the schema of the ledger',
        'choose another one here or in ledger.schema',
      );
  }
}

/** Returns the host, port and name of a database. */
function databaseOf(url: Secret): string {
  const { hostname, port, pathname } = new URL(url.reveal());
  return `${hostname}:${port || 5432}${pathname}`;
}

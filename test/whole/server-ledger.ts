import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { parse, stringify } from 'yaml';
import { PostgresStore } from '../ledger-postgres/postgres-store.ts';
import { tempDir } from '../support/files/temp-dir.ts';
import { runLeadsync, startLeadsync } from '../support/program/leadsync.ts';
import { aScene } from '../support/scene/a-scene.ts';
import type { CarrierName, Scene, SceneOptions } from '../support/scene/scene.ts';
import { freePort } from '../support/servers/server-process.ts';
import { requireDatabaseUrl } from '../support/servers/services.ts';

/** A scene whose ledger is in PostgreSQL. */
export interface ServerScene extends Scene {
  readonly store: PostgresStore;
  /** Returns the configuration with changes, as on another machine: with a data directory and an admin address of its own. */
  onAnotherMachine(changes?: Readonly<Record<string, unknown>>): Promise<Elsewhere>;
}

/** A leadsync with the ledger of a scene on another machine. */
export interface Elsewhere {
  readonly configFile: string;
  readonly adminUrl: string;
  run(...args: string[]): ReturnType<typeof runLeadsync>;
  start(...args: string[]): ReturnType<typeof startLeadsync>;
}

/** Opens a scene whose ledger is in a schema of its own. `ledger` has further options of the section. */
export async function aServerScene(
  carrier: CarrierName,
  { ledger = {}, ...options }: SceneOptions & { readonly ledger?: Readonly<Record<string, unknown>> } = {},
): Promise<ServerScene> {
  const store = new PostgresStore();
  const { schema } = store;
  const scene = await aScene(carrier, {
    ...options,
    config: {
      ledger: { url: requireDatabaseUrl(), schema, ...ledger },
      tokens: { encryption_key: 'a passphrase for every machine' },
      ...options.config,
    },
  });
  const onAnotherMachine = async (changes: Readonly<Record<string, unknown>> = {}) => {
    const folder = tempDir();
    const listen = `127.0.0.1:${await freePort()}`;
    const configFile = join(folder, 'leadsync.yaml');
    const config = parse(readFileSync(scene.configFile, 'utf8'));
    const admin = { ...config.admin, listen };
    writeFileSync(configFile, stringify({ ...config, data_dir: join(folder, 'data'), admin, ...changes }));
    return {
      configFile,
      adminUrl: `http://${listen}`,
      run: (...args: string[]) => runLeadsync([...args, '-c', configFile]),
      start: (...args: string[]) => {
        const leadsync = startLeadsync([...args, '-c', configFile]);
        onTestFinished(async () => void (await leadsync.kill('SIGKILL')));
        return leadsync;
      },
    };
  };
  return { ...scene, store, onAnotherMachine };
}

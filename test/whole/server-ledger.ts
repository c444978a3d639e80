import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { parse, stringify } from 'yaml';
import { PostgresStore } from '../ledger-postgres/postgres-store.ts';
import { tempDir } from '../support/files/temp-dir.ts';
import { type RunningLeadsync, runLeadsync, startLeadsync } from '../support/program/leadsync.ts';
import { aScene } from '../support/scene/a-scene.ts';
import type { CarrierName, Scene, SceneOptions } from '../support/scene/scene.ts';
import { freePort } from '../support/servers/server-process.ts';
import { requireDatabaseUrl } from '../support/servers/services.ts';

/** A scene whose ledger is in PostgreSQL. */
export interface ServerScene extends Scene {
  readonly store: PostgresStore;
  /** Returns the configuration with changes, as on another machine: with a data directory, an admin address and a name of its own. */
  onAnotherMachine(changes?: Readonly<Record<string, unknown>>): Promise<Machine>;
}

/** Another machine with the ledger of a scene. */
export interface Machine {
  readonly name: string;
  readonly configFile: string;
  readonly adminUrl: string;
  /** The leadsync that was started there last. */
  readonly running: RunningLeadsync | undefined;
  run(...args: string[]): ReturnType<typeof runLeadsync>;
  start(...args: string[]): RunningLeadsync;
}

/** Opens a scene whose ledger is in a schema of its own. `ledger` has further options of the section. */
export async function aServerScene(
  carrier: CarrierName,
  { ledger = {}, ...options }: SceneOptions & { readonly ledger?: Readonly<Record<string, unknown>> } = {},
): Promise<ServerScene> {
  const store = new PostgresStore();
  const { schema } = store;
  const { sinks = {} } = options;
  const scene = await aScene(carrier, {
    ...options,
    // The machines of a test see the same folder.
    sinks: { ...sinks, drop: { shared: true, ...sinks.drop } },
    config: {
      ledger: { url: requireDatabaseUrl(), schema, ...ledger },
      tokens: { encryption_key: 'a passphrase for every machine' },
      ...options.config,
    },
  });
  let machines = 0;
  const onAnotherMachine = async (changes: Readonly<Record<string, unknown>> = {}) => {
    machines += 1;
    const folder = tempDir();
    const listen = `127.0.0.1:${await freePort()}`;
    const config = parse(readFileSync(scene.configFile, 'utf8'));
    const admin = { ...config.admin, listen };
    const ownLedger = { ...config.ledger, create: 'always' };
    const own = { data_dir: join(folder, 'data'), admin, ledger: ownLedger };
    const configFile = join(folder, 'leadsync.yaml');
    writeFileSync(configFile, stringify({ ...config, ...own, ...changes }));
    return new OtherMachine(`machine-${machines}`, configFile, `http://${listen}`);
  };
  return { ...scene, store, onAnotherMachine };
}

class OtherMachine implements Machine {
  readonly name: string;
  readonly configFile: string;
  readonly adminUrl: string;
  #running: RunningLeadsync | undefined;

  constructor(name: string, configFile: string, adminUrl: string) {
    this.name = name;
    this.configFile = configFile;
    this.adminUrl = adminUrl;
  }

  get running(): RunningLeadsync | undefined {
    return this.#running;
  }

  run(...args: string[]): ReturnType<typeof runLeadsync> {
    return runLeadsync([...args, '-c', this.configFile], this.#options);
  }

  start(...args: string[]): RunningLeadsync {
    const leadsync = startLeadsync([...args, '-c', this.configFile], this.#options);
    this.#running = leadsync;
    onTestFinished(async () => void (await leadsync.kill('SIGKILL')));
    return leadsync;
  }

  get #options() {
    return { env: { LEADSYNC_MACHINE: this.name } };
  }
}

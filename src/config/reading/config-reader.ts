import { dirname, resolve } from 'node:path';
import type { z } from 'zod';
import { redisPlaceOf } from '../../delivery/options.ts';
import { backupConfigOf, type ExportConfig, exportConfigOf } from '../../exports/contract/options.ts';
import { Secret } from '../../platform/options/secret.ts';
import type { SinkType } from '../../sinks/sink-type.ts';
import type { Config, LedgerConfig, SourceConfig } from '../contract/config.ts';
import type { FaultList } from '../faults/fault-list.ts';
import { absoluteSecretFiles, mayNameFile } from '../options/absolute-paths.ts';
import { daemonOptions } from '../options/daemon-options.ts';
import { optionJsonSchema } from '../options/option-json-schema.ts';
import { nameOption } from '../options/option-limits.ts';
import { sourceEntry } from '../options/source-entry.ts';
import { checkAdminAccess, commandToken, headerOf, loginOf, tokensOf } from './admin-access.ts';
import { refuseFileOptions, refuseSharedSchema, requireTokenKey } from './check-ledger-server.ts';
import { isMap, type Purpose, withoutSecrets } from './purpose.ts';
import { SinkReader } from './sink-reader.ts';
import { TreeValidator } from './validate-tree.ts';
import type { YamlTree } from './yaml-tree.ts';

/** Reads one configuration part by part. A part with faults is left out; the others are still read. */
export class ConfigReader {
  readonly #tree: YamlTree;
  readonly #validator: TreeValidator;
  readonly #faults: FaultList;
  readonly #sinkTypes: readonly SinkType[];

  readonly #file: string;
  readonly #folder: string;
  readonly #secretFiles = new Set<string>();
  readonly #ignoresTests: boolean;

  /** `file` is the path of the tree's file. Relative paths are resolved against its folder. */
  constructor(
    file: string,
    tree: YamlTree,
    faults: FaultList,
    {
      sinkTypes,
      purpose,
      ignoreTests = false,
    }: { sinkTypes: readonly SinkType[]; purpose: Purpose; ignoreTests?: boolean },
  ) {
    this.#file = resolve(file);
    this.#folder = dirname(this.#file);
    this.#tree = tree;
    this.#faults = faults;
    this.#validator = new TreeValidator(tree, faults, purpose);
    this.#sinkTypes = sinkTypes;
    this.#ignoresTests = ignoreTests;
  }

  /** The secret files named in the parts read so far. */
  get secretFiles(): readonly string[] {
    return [...this.#secretFiles];
  }

  /**
   * Returns the configuration without the parts that have faults, and adds each fault to the list. Returns undefined if `daemonOptions`
   * rejects the top level.
   */
  read(): Omit<Config, 'values' | 'secrets' | 'exposedSecrets'> | undefined {
    const daemon = this.#validate(daemonOptions, this.#tree.root, []);
    const sources = this.#entries('sources').map(([name, value]) => this.#readSource(name, value));
    const reader = this.#sinkReader(daemon);
    const sinks = this.#entries('sinks').map(([name, value]) => reader.read(name, value));
    reader.refuseFormerNames(sinks);
    if (daemon === undefined) return undefined;
    const redis = redisPlaceOf(daemon.queue);
    if (redis?.kind === 'sentinel' && redis.sentinels.length === 0)
      this.#validator.fault(
        ['queue', 'redis'],
        'names no Redis',
        'add one of `url`, `sentinels` and `cluster`',
      );
    if (daemon.queue.board && !redis)
      this.#validator.fault(
        ['queue', 'board'],
        'there is no queue to show without queue.redis_url or queue.redis',
        'set one of them, or remove queue.board',
      );
    checkAdminAccess(daemon.admin, this.#validator);
    this.#refuseSharedNames(daemon);
    const readSinks = sinks.filter((sink) => sink !== undefined);
    const { server } = daemon.ledger;
    if (server) {
      refuseFileOptions(daemon, this.#tree, this.#validator);
      requireTokenKey(daemon, this.#validator);
      refuseSharedSchema(server, readSinks, this.#validator);
    }
    if (!this.#ignoresTests && this.#faults.isEmpty) reader.runTests();
    return {
      file: this.#file,
      secretFiles: this.secretFiles,
      name: daemon.name,
      dataDir: resolve(this.#folder, daemon.data_dir),
      ledgerServer: server,
      ledgerCreate: daemon.ledger.create,
      minFreeBytes: daemon.ledger.min_free,
      sources: sources.filter((source) => source !== undefined),
      sinks: readSinks,
      queue: { redis, prefix: daemon.queue.prefix, board: daemon.queue.board },
      exports: this.#exportsOf(daemon),
      backups: this.#backupsOf(daemon),
      admin: daemon.admin.listen,
      alerts: daemon.alerts,
      adminTokens: tokensOf(daemon.admin),
      adminToken: commandToken(daemon.admin),
      adminHosts: daemon.admin.hosts,
      publicUrl: daemon.admin.public_url,
      adminProxies: daemon.admin.trusted_proxies,
      adminHeader: headerOf(daemon.admin),
      adminLogin: loginOf(daemon.admin),
      log: { level: daemon.log.level, format: daemon.log.format },
      tokenKey: daemon.tokens.encryption_key,
      clientKey: daemon.store.client_key,
      lookups: daemon.lookups,
      retention: daemon.retention,
      watch: daemon.watch,
      gracePeriodMs: daemon.stop.grace,
    };
  }

  /**
   * Returns the part of the configuration that is enough for commands that neither poll nor deliver. Validates the other parts too, and
   * leaves them out. For each fault, leaves out as little as possible. Returns undefined if data_dir has a fault, or if the address of the
   * ledger's server cannot be read: the file in data_dir would be another ledger.
   */
  readForLedger(): LedgerConfig | undefined {
    const { root } = this.#tree;
    const whole = this.#validate(daemonOptions, root, []);
    const daemon = whole ?? this.#readEssentials(root);
    const sources = this.#entries('sources').map(([name, value]) => this.#readPoll(name, value));
    const reader = this.#sinkReader(whole);
    const sinks = this.#entries('sinks').map(([name, value]) => reader.readCommon(name, value));
    reader.refuseFormerNames(sinks);
    if (daemon === undefined) return undefined;
    return {
      file: this.#file,
      dataDir: resolve(this.#folder, daemon.data_dir),
      ledgerServer: daemon.ledger.server,
      minFreeBytes: daemon.ledger.min_free,
      sources: sources.filter((source) => source !== undefined),
      sinks: sinks.filter((sink) => sink !== undefined),
      queue: {
        redis:
          redisPlaceOf(daemon.queue) ??
          this.#hidden(['queue', 'redis_url']) ??
          this.#hidden(['queue', 'redis']),
      },
      exports: this.#exportsOf(daemon),
      backups: this.#backupsOf(daemon),
      admin: daemon.admin.listen,
      publicUrl: daemon.admin.public_url,
      name: daemon.name,
      adminToken: commandToken(daemon.admin) ?? this.#hiddenToken(),
    };
  }

  /**
   * Reads the sections that a `LedgerConfig` needs one by one, if need be without their secrets, so that faults elsewhere do not hide them.
   * Returns undefined if data_dir has a fault, or if there is an address of the ledger's server that cannot be read.
   */
  #readEssentials(root: unknown) {
    if (!isMap(root)) return undefined;
    const read = <Schema extends z.ZodType>(name: string, schema: Schema) =>
      this.#validate(schema, root[name], [name]) ??
      this.#validate(schema, withoutSecrets(root[name], optionJsonSchema(schema)), [name]);
    const { name, data_dir, ledger, queue, exports, backups, admin } = daemonOptions.shape;
    const dataDir = read('data_dir', data_dir);
    if (dataDir === undefined) return undefined;
    const ledgerSection = read('ledger', ledger) ?? ledger.parse(undefined);
    if (this.#tree.has(['ledger', 'url']) && !ledgerSection.server) return undefined;
    return {
      name: read('name', name),
      data_dir: dataDir,
      ledger: ledgerSection,
      queue: read('queue', queue) ?? queue.parse(undefined),
      exports: read('exports', exports) ?? {},
      backups: read('backups', backups) ?? {},
      admin: read('admin', admin) ?? {
        listen: undefined,
        public_url: undefined,
        token: undefined,
        tokens: {},
      },
    };
  }

  #validate<Schema extends z.ZodType>(
    schema: Schema,
    value: unknown,
    at: readonly string[],
    neighbours: readonly string[] = [],
  ): z.output<Schema> | undefined {
    const note = (file: string) => void this.#secretFiles.add(file);
    // Building the JSON Schema takes longer than reading the whole file.
    const input = mayNameFile(value)
      ? absoluteSecretFiles(value, optionJsonSchema(schema), this.#folder, note)
      : value;
    return this.#validator.validate(schema, input, at, neighbours);
  }

  #entries(section: string): [name: string, value: unknown][] {
    const entries = this.#tree.valueAt([section]);
    if (!isMap(entries)) return [];
    for (const name of Object.keys(entries)) {
      const { error } = nameOption.safeParse(name);
      if (error)
        this.#validator.keyFault([section, name], `"${name}" cannot be a name`, error.issues[0]?.message);
    }
    return Object.entries(entries);
  }

  /**
   * Returns the reader of the sinks, with what their mappings share. If the top level has a fault or the key cannot be read, uses
   * placeholders, so that the expressions that need them get no further faults.
   */
  #sinkReader(daemon: z.output<typeof daemonOptions> | undefined): SinkReader {
    const written = this.#tree.valueAt(['lookups']);
    const names = isMap(written) ? Object.keys(written) : [];
    const isKeySet = this.#tree.has(['store', 'client_key']);
    const mapping = {
      lookups: daemon?.lookups ?? Object.fromEntries(names.map((name) => [name, {}])),
      clientKey: daemon?.store.client_key ?? (isKeySet ? new Secret('not read') : undefined),
    };
    return new SinkReader({
      tree: this.#tree,
      validator: this.#validator,
      validate: (schema, value, at, neighbours) => this.#validate(schema, value, at, neighbours),
      sinkTypes: this.#sinkTypes,
      folder: this.#folder,
      mapping,
    });
  }

  #exportsOf({ exports }: Pick<z.output<typeof daemonOptions>, 'exports'>): ExportConfig[] {
    return Object.entries(exports).map(([name, options]) => this.#resolved(exportConfigOf(name, options)));
  }

  #backupsOf({ backups }: Pick<z.output<typeof daemonOptions>, 'backups'>): ExportConfig[] {
    return Object.entries(backups).map(([name, options]) => this.#resolved(backupConfigOf(name, options)));
  }

  #resolved(entry: ExportConfig): ExportConfig {
    if (entry.target.type !== 'directory') return entry;
    const directory = resolve(this.#folder, entry.target.directory);
    return { ...entry, target: { ...entry.target, directory } };
  }

  /** Refuses a backup with the name of an export, because the name identifies its files, state and metrics. */
  #refuseSharedNames({
    exports,
    backups,
  }: Pick<z.output<typeof daemonOptions>, 'exports' | 'backups'>): void {
    for (const name of Object.keys(backups))
      if (Object.hasOwn(exports, name))
        this.#validator.keyFault(
          ['backups', name],
          `"${name}" is also the name of an export`,
          'choose another name',
        );
  }

  #readSource(name: string, value: unknown): SourceConfig | undefined {
    const source = this.#validate(sourceEntry, value, ['sources', name]);
    if (source === undefined) return undefined;
    const { poll, ...options } = source;
    return { name, poll, options };
  }

  /** Returns a source's name and poll schedule, together with its options if they are valid. Validates the whole source. */
  #readPoll(name: string, value: unknown): LedgerConfig['sources'][number] | undefined {
    const at = ['sources', name];
    const whole = this.#readSource(name, value);
    if (whole !== undefined || !isMap(value)) return whole;
    const poll = this.#validate(sourceEntry.shape.poll, value['poll'], [...at, 'poll']);
    return poll && { name, poll };
  }

  /** Returns `unknown` if the token that commands send may be in a variable or file that this process cannot read. */
  #hiddenToken(): 'unknown' | undefined {
    const written = this.#tree.valueAt(['admin', 'tokens']);
    const names = isMap(written) ? Object.keys(written) : [];
    const paths = [['token'], ...names.map((name) => ['tokens', name, 'token'])];
    return paths.some((path) => this.#hidden(['admin', ...path])) ? 'unknown' : undefined;
  }

  /** Returns `unknown` if the value comes from a variable or file that this process may be unable to read. */
  #hidden(path: readonly string[]): 'unknown' | undefined {
    const hidden = this.#tree.interpolationAt(path) !== undefined || isMap(this.#tree.valueAt(path));
    return hidden ? 'unknown' : undefined;
  }
}

import { dirname, resolve } from 'node:path';
import { z } from 'zod';
import type { SinkType } from '../sinks/sink.ts';
import { absolutePaths, absoluteSecretFiles } from './absolute-paths.ts';
import type { Config, SinkConfig, SourceConfig } from './config.ts';
import { daemonOptions } from './daemon-options.ts';
import type { FaultList } from './fault-list.ts';
import { nameOption } from './option-limits.ts';
import { optionSchema } from './option-schema.ts';
import { type SinkOptions, sinkOptions } from './sink-options.ts';
import { sourceEntry } from './source-entry.ts';
import { didYouMean } from './suggest.ts';
import { TreeValidator } from './validate-tree.ts';
import type { YamlTree } from './yaml-tree.ts';

/** Reads one configuration, part by part; a part that has faults is left out, and the others are still read. */
export class ConfigReader {
  readonly #tree: YamlTree;
  readonly #validator: TreeValidator;
  readonly #sinkTypes: readonly SinkType[];

  readonly #file: string;
  readonly #folder: string;

  /** `file` is where the tree comes from; relative paths are taken from its folder. */
  constructor(file: string, tree: YamlTree, faults: FaultList, sinkTypes: readonly SinkType[]) {
    this.#file = resolve(file);
    this.#folder = dirname(this.#file);
    this.#tree = tree;
    this.#validator = new TreeValidator(tree, faults);
    this.#sinkTypes = sinkTypes;
  }

  /** Undefined, or with parts left out, when there are faults; they are noted. */
  read(): Config | undefined {
    const daemon = this.#validate(daemonOptions, this.#tree.root, []);
    const sources = this.#entries('sources').map(([name, value]) => this.#readSource(name, value));
    const sinks = this.#entries('sinks').map(([name, value]) => this.#readSink(name, value));
    if (daemon === undefined) return undefined;
    return {
      file: this.#file,
      dataDir: resolve(this.#folder, daemon.data_dir),
      sources: sources.filter((source) => source !== undefined),
      sinks: sinks.filter((sink) => sink !== undefined),
      queue: { redisUrl: daemon.queue.redis_url, prefix: daemon.queue.prefix },
      admin: daemon.admin.listen,
      log: { level: daemon.log.level, format: daemon.log.format },
      tokenKey: daemon.tokens.encryption_key,
      gracePeriodMs: daemon.stop.grace,
    };
  }

  #validate<Schema extends z.ZodType>(
    schema: Schema,
    value: unknown,
    at: readonly string[],
    neighbours: readonly string[] = [],
  ): z.output<Schema> | undefined {
    const input = absoluteSecretFiles(value, optionSchema(schema), this.#folder);
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

  #readSource(name: string, value: unknown): SourceConfig | undefined {
    const source = this.#validate(sourceEntry, value, ['sources', name]);
    if (source === undefined) return undefined;
    const { poll, ...options } = source;
    return { name, poll, options };
  }

  #readSink(name: string, value: unknown): SinkConfig | undefined {
    const at = ['sinks', name];
    if (!isMap(value)) {
      this.#validator.validate(anyMap, value, at);
      return undefined;
    }
    const type = this.#sinkType(value['type'], at);
    const common = sinkOptions(type ?? ANY_TYPE);
    const commonKeys = Object.keys(common.shape);
    const own = Object.entries(value).filter(([key]) => key !== 'type' && !commonKeys.includes(key));
    const shared = Object.entries(value).filter(([key]) => commonKeys.includes(key));
    const sharedOptions = this.#validator.validate(common, Object.fromEntries(shared), at);
    // Without a type nobody knows what the other keys should be.
    if (type === undefined) return undefined;
    const ownInput = absolutePaths(Object.fromEntries(own), type.paths ?? [], this.#folder);
    const options = this.#validate(type.options.strict(), ownInput, at, ['type', ...commonKeys]);
    return options && sharedOptions && toSinkConfig(name, type, options, sharedOptions);
  }

  #sinkType(written: unknown, at: readonly string[]): SinkType | undefined {
    const path = [...at, 'type'];
    const types = this.#sinkTypes.map(({ type }) => type);
    const found = this.#sinkTypes.find(({ type }) => type === written);
    if (found !== undefined) return found;
    if (!this.#tree.has(path)) this.#validator.missing(path, `add one of ${types.join(', ')}`);
    else
      this.#validator.fault(path, `must be one of ${types.join(', ')}`, didYouMean(String(written), types));
    return undefined;
  }
}

const anyMap = z.record(z.string(), z.unknown());

/** Defaults that only let the common options of a sink without a type be validated. */
const ANY_TYPE: Pick<SinkType, 'defaults'> = {
  defaults: { events: ['created'], batchMax: 1, batchWaitMs: 0, concurrency: 1, timeoutMs: 1000 },
};

function toSinkConfig(
  name: string,
  type: SinkType,
  options: z.output<SinkType['options']>,
  shared: SinkOptions,
): SinkConfig {
  return {
    name,
    type,
    options,
    enabled: shared.enabled,
    events: shared.events,
    batch: { max: shared.batch.max, waitMs: shared.batch.wait },
    concurrency: shared.concurrency,
    timeoutMs: shared.timeout,
    retry: { scheduleMs: shared.retry.schedule, jitter: shared.retry.jitter },
    backfill: shared.backfill,
  };
}

function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

import { z } from 'zod';
import { didYouMean } from '../../platform/text/suggest.ts';
import { defaultsOf, type SinkType } from '../../sinks/sink-type.ts';
import type { LedgerConfig, SinkConfig } from '../contract/config.ts';
import { absolutePaths } from '../options/absolute-paths.ts';
import { ANY_TYPE, breakerOf, policyOf, type SinkOptions, sinkOptions } from '../options/sink-options.ts';
import { type MappingParts, MappingReader, mappingOf } from './mapping-reader.ts';
import { isMap } from './purpose.ts';
import { shallowFields } from './shallow-fields.ts';
import type { TreeValidator } from './validate-tree.ts';
import type { YamlTree } from './yaml-tree.ts';

/** What the sinks of a configuration share. */
interface SharedParts {
  readonly tree: YamlTree;
  readonly validator: TreeValidator;
  /** Validates an entry, and records the secret files that it names. Returns undefined if it has a fault. */
  readonly validate: <Schema extends z.ZodType>(
    schema: Schema,
    value: unknown,
    at: readonly string[],
    neighbours: readonly string[],
  ) => z.output<Schema> | undefined;
  readonly sinkTypes: readonly SinkType[];
  /** The folder against which relative paths are resolved. */
  readonly folder: string;
  readonly mapping: MappingParts;
}

/** Reads the sinks of one configuration. Adds each fault to the list. */
export class SinkReader {
  readonly #parts: SharedParts;
  /** Functions that run the tests of the mappings. */
  readonly #tests: (() => void)[] = [];

  constructor(parts: SharedParts) {
    this.#parts = parts;
  }

  /** Runs the tests of the mappings of the sinks that were read. */
  runTests(): void {
    for (const test of this.#tests) test();
  }

  /** Returns a sink; undefined if it has a fault. */
  read(name: string, value: unknown): SinkConfig | undefined {
    const { type, options, shared } = this.#sinkParts(name, value);
    return (
      type &&
      options &&
      shared && {
        ...commonOf(name, { type, options, shared }, this.#parts.mapping),
        options,
      }
    );
  }

  /** Returns the options that every sink has. Validates the type's own options, and leaves them out. */
  readCommon(name: string, value: unknown): LedgerConfig['sinks'][number] | undefined {
    const { type, options, shared } = this.#sinkParts(name, value);
    return type && shared && commonOf(name, { type, options, shared }, this.#parts.mapping);
  }

  /** Refuses a former name that is also the name of a sink, or the former name of two sinks. */
  refuseFormerNames(sinks: readonly (Pick<SinkConfig, 'name' | 'formerly'> | undefined)[]): void {
    const former = new Set<string>();
    for (const { name, formerly } of sinks.filter((sink) => sink !== undefined)) {
      if (formerly === undefined) continue;
      const at = ['sinks', name, 'formerly'];
      if (sinks.some((sink) => sink?.name === formerly))
        this.#parts.validator.fault(
          at,
          `there is a sink "${formerly}" here`,
          'remove `formerly`, or that sink',
        );
      else if (former.has(formerly))
        this.#parts.validator.fault(
          at,
          `another sink has the former name "${formerly}" as well`,
          'remove `formerly` from one of them',
        );
      former.add(formerly);
    }
  }

  #sinkParts(name: string, written: unknown): SinkParts {
    const at = ['sinks', name];
    if (!isMap(written)) {
      this.#parts.validator.validate(anyMap, written, at);
      return {};
    }
    const type = this.#sinkType(written['type'], at);
    const common = sinkOptions(type ? { ...type, defaults: defaultsOf(type, written) } : ANY_TYPE);
    const commonKeys = Object.keys(common.shape);
    const known = type && new Set(['type', ...commonKeys, ...Object.keys(type.options.shape)]);
    const value = known ? this.#withoutShallow(written, known, at) : written;
    const own = Object.entries(value).filter(([key]) => key !== 'type' && !commonKeys.includes(key));
    const shared = Object.entries(value).filter(([key]) => commonKeys.includes(key));
    const sharedOptions = this.#parts.validator.validate(common, Object.fromEntries(shared), at);
    // Without a type, it is unknown which other keys are valid.
    const absolute = (paths: object) => absolutePaths(paths, type?.paths ?? [], this.#parts.folder);
    const validated =
      type &&
      this.#parts.validate(type.options.strict(), absolute(Object.fromEntries(own)), at, [
        'type',
        ...commonKeys,
      ]);
    const options = validated && absolute(validated); // again, for paths in defaults
    if (sharedOptions) {
      const mapping = new MappingReader(this.#parts.tree, this.#parts.validator, this.#parts.mapping);
      this.#tests.push(mapping.check(sharedOptions, type ?? {}, options, at));
    }
    if (type === undefined) return {};
    if (options) this.#refuseCombinations(type, options, value, at);
    return { type, options, shared: sharedOptions };
  }

  /**
   * Reports fields that are not indented deeper than `fields`. Returns the sink without them, and without the options whose faults would
   * only follow from this one.
   */
  #withoutShallow(
    sink: Readonly<Record<string, unknown>>,
    known: ReadonlySet<string>,
    at: readonly string[],
  ): Readonly<Record<string, unknown>> {
    const shallow = shallowFields(sink, (key) => known.has(key));
    if (!shallow) return sink;
    const { path, keys } = shallow;
    const hint = `indent ${keys.join(', ')} deeper than \`${path.at(-1)}\``;
    this.#parts.validator.fault([...at, ...path], 'has no value: the lines below begin in its column', hint);
    const following = new Set(['fields', 'tests', ...(path.length === 1 ? keys : [])]);
    return Object.fromEntries(Object.entries(sink).filter(([key]) => !following.has(key)));
  }

  #refuseCombinations(
    type: SinkType,
    options: z.output<SinkType['options']>,
    written: Readonly<Record<string, unknown>>,
    at: readonly string[],
  ): void {
    const perLead = new Set(Object.keys(type.perLead ?? {}).filter((name) => Object.hasOwn(written, name)));
    for (const { option, message, hint } of type.faults?.(options, perLead) ?? []) {
      const path = [...at, option];
      if (this.#parts.tree.has(path)) this.#parts.validator.keyFault(path, message, hint);
      else if (!Object.keys(written).some((key) => didYouMean(key, [option])))
        // A misspelt option has a fault of its own.
        this.#parts.validator.missing(path, hint);
    }
  }

  #sinkType(written: unknown, at: readonly string[]): SinkType | undefined {
    const path = [...at, 'type'];
    const types = this.#parts.sinkTypes.map(({ type }) => type);
    const found = this.#parts.sinkTypes.find(({ type }) => type === written);
    if (found !== undefined) return found;
    if (!this.#parts.tree.has(path)) this.#parts.validator.missing(path, `add one of ${types.join(', ')}`);
    else
      this.#parts.validator.fault(
        path,
        `must be one of ${types.join(', ')}`,
        didYouMean(String(written), types),
      );
    return undefined;
  }
}

const anyMap = z.record(z.string(), z.unknown());

/** The parts of a sink; those with faults are undefined. */
interface SinkParts {
  readonly type?: SinkType;
  readonly options?: z.output<SinkType['options']> | undefined;
  readonly shared?: SinkOptions | undefined;
}

function commonOf(
  name: string,
  { type, options, shared }: SinkParts & { readonly type: SinkType; readonly shared: SinkOptions },
  mapping: MappingParts,
): Omit<SinkConfig, 'options'> {
  return {
    name,
    type,
    enabled: shared.enabled,
    formerly: shared.formerly,
    events: shared.events,
    batch: { max: shared.batch.max, waitMs: shared.batch.wait },
    concurrency: shared.concurrency,
    rate: shared.rate,
    timeoutMs: shared.timeout,
    retry: policyOf(shared.retry),
    breaker: breakerOf(shared.breaker),
    backfill: shared.backfill,
    mapping: mappingOf(shared, type, options, mapping),
    mappingTests: shared.tests ?? [],
    region: shared.region,
  };
}

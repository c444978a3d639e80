import {
  type Changes,
  type ConfigChanges,
  describeExport,
  describeSink,
  describeSource,
  differingOptions,
} from '../config/changes/compare-configs.ts';
import { type Config, filesOf, type SinkConfig, type SourceConfig } from '../config/contract/config.ts';
import { type ExportConfig, isBackup } from '../exports/contract/options.ts';
import type { Quota } from '../leads/quota.ts';
import { isNameTaken, type LastDeclaration } from '../ledger/contract/declaration.ts';
import { originOf } from '../source/http-source.ts';

type LastSink = LastDeclaration['sinks'][number];

/** What a configuration would change for one sink, compared with the last configuration that the ledger recorded. */
export type PlannedSink =
  /**
   * `leads`: number of leads listed before; they are owed to the sink, or skipped if its `backfill` is off. 0 if the sink does not take
   * `created` events. `formerly`: the former name that the configuration states, set if no known sink has that name but other sinks
   * (`leaving`) are removed. In that case, a rename was probably intended.
   */
  | {
      readonly kind: 'added';
      readonly name: string;
      readonly leads: number;
      readonly backfill: boolean;
      readonly cost?: BackfillCost;
      readonly formerly?: string;
      readonly leaving?: readonly string[];
    }
  /** `leads`: number of leads that were listed or changed while the sink was not configured. */
  | {
      readonly kind: 'back';
      readonly name: string;
      readonly leads: number;
      readonly backfill: boolean;
      readonly pending: number;
      readonly cost?: BackfillCost;
    }
  /** The sink cannot be renamed, because another sink has its new name. leadsync refuses the configuration. */
  | { readonly kind: 'name-taken'; readonly name: string; readonly formerly: string }
  /** `options`: changed options, except the name. */
  | {
      readonly kind: 'renamed';
      readonly name: string;
      readonly formerly: string;
      readonly options: readonly string[];
      readonly pending: number;
    }
  /** `disabled`: whether the sink is still in the configuration, but disabled. `dead`: number of dead deliveries, which stay. */
  | {
      readonly kind: 'removed';
      readonly name: string;
      readonly disabled: boolean;
      readonly pending: number;
      readonly dead: number;
    }
  | {
      readonly kind: 'altered';
      readonly name: string;
      readonly options: readonly string[];
      readonly pending: number;
      /** Set if the sink's mapping changes and leads were tried. */
      readonly routing?: Routing;
    };

/** How much of the destination's daily limit is used by the leads owed to a sink. Absent if there is no such limit, or if no leads are owed. */
export interface BackfillCost {
  /** What the destination counts: `tokens`. */
  readonly unit: string;
  readonly amount: number;
  /** Whether the sink's `where` may leave out some of the leads, so that they cost less. */
  readonly at_most: boolean;
  /** Absent if neither the configuration nor an earlier answer from the destination states it. */
  readonly daily_limit?: number;
}

/** How many of the last leads go to a sink. */
export interface Routing {
  /** The number of leads that were tried. */
  readonly leads: number;
  /** How many of them go to the sink with the last configuration, and with the planned one. */
  readonly before: number;
  readonly after: number;
  /** How many go to it with the planned configuration only, and with the last one only. */
  readonly joining: number;
  readonly leaving: number;
  /** For how many of them an expression of the planned mapping fails, so that they would be refused. */
  readonly failed: number;
  /** The number of pending deliveries that keep the last mapping, because they were sent under it. */
  readonly keeping: number;
}

/** What a configuration would change for one source. The leads of a removed source stay. `options`: changed options. */
export type PlannedSource =
  /** `leads`: number of leads that are known because the source was configured before. */
  | { readonly kind: 'added'; readonly name: string; readonly leads: number }
  | { readonly kind: 'removed'; readonly name: string; readonly leads: number }
  | { readonly kind: 'altered'; readonly name: string; readonly options: readonly string[] }
  /**
   * The source has a different address from the one that its leads come from. leadsync does not poll it until `leadsync moved` confirms the
   * address.
   */
  | {
      readonly kind: 'elsewhere';
      readonly name: string;
      readonly origin: string;
      readonly leads_from: string;
    };

/** What a configuration would change for one export or backup. The files of a removed one stay. `options`: changed options. */
export type PlannedExport = { readonly name: string; readonly what: FileWord } & (
  | { readonly kind: 'added' }
  | { readonly kind: 'removed' }
  | { readonly kind: 'altered'; readonly options: readonly string[] }
);

type FileWord = 'export' | 'backup';

/** What a configuration would change. */
export interface Plan {
  readonly sources: readonly PlannedSource[];
  readonly sinks: readonly PlannedSink[];
  readonly exports: readonly PlannedExport[];
}

/** The last configuration, as far as it was recorded. */
export interface LastConfiguration extends LastDeclaration {
  readonly exports: readonly { readonly name: string; readonly config: string }[];
}

/**
 * Compares a configuration with the last one that was recorded. The record contains no secrets, so the plan shows changed secrets
 * only if `exact`, a comparison with the configuration in force, is given.
 */
export function planOf(last: LastConfiguration, config: Config, exact?: ConfigChanges): Plan {
  return {
    sources: planSources(last, config, exact?.sources),
    sinks: planSinks(last, config, exact?.sinks),
    exports: planExports(last, config, exact?.exports),
  };
}

/** The options of a source that make up its address. */
const ADDRESS: ReadonlySet<string> = new Set([
  'base_url',
  'leads_path',
] satisfies (keyof SourceConfig['options'])[]);

function planSources(
  { sources: last }: LastDeclaration,
  { sources }: Config,
  exact: Changes | undefined,
): PlannedSource[] {
  const known = new Map(last.map((source) => [source.name, source]));
  const names = new Set(sources.map(({ name }) => name));
  return [
    ...sources.flatMap((source): PlannedSource[] => {
      const { config: before, leads = 0, origin } = known.get(source.name) ?? {};
      const elsewhere = planElsewhere(source, origin);
      if (before === undefined) return [{ kind: 'added', name: source.name, leads }, ...elsewhere];
      const changed = optionsOf(source.name, exact) ?? differingOptions(before, describeSource(source));
      // The other address is reported by itself, because no poll uses it yet.
      const options = elsewhere.length > 0 ? changed.filter((option) => !ADDRESS.has(option)) : changed;
      return options.length > 0 ? [{ kind: 'altered', name: source.name, options }, ...elsewhere] : elsewhere;
    }),
    ...last
      .filter(({ name, config }) => config !== undefined && !names.has(name))
      .map(({ name, leads }): PlannedSource => ({ kind: 'removed', name, leads })),
  ];
}

function planElsewhere({ name, options }: SourceConfig, leadsFrom: string | undefined): PlannedSource[] {
  const origin = originOf(options);
  if (leadsFrom === undefined || origin === leadsFrom) return [];
  return [{ kind: 'elsewhere', name, origin, leads_from: leadsFrom }];
}

function planSinks(last: LastDeclaration, config: Config, exact: Changes | undefined): PlannedSink[] {
  const enabled = config.sinks.filter((sink) => sink.enabled);
  const known = new Map(last.sinks.map((sink) => [sink.name, sink]));
  const leads = last.sources.reduce((sum, source) => sum + source.leads, 0);
  const kept = new Set(
    enabled.flatMap(({ name, formerly }) =>
      cannotTakeName(name, formerly, known) ? [name, formerly] : [known.has(name) ? name : formerly],
    ),
  );
  const removed = last.sinks.filter(({ name, active }) => active && !kept.has(name));
  const leaving = removed.map(({ name }) => name);
  return [
    ...enabled
      .flatMap((sink) => planSink(sink, known, leads, exact))
      .map((planned) => withUnknownFormer(planned, enabled, leaving)),
    ...removed.map(({ name, pending, dead }): PlannedSink => {
      const disabled = config.sinks.some((sink) => sink.name === name);
      return { kind: 'removed', name, disabled, pending, dead };
    }),
  ];
}

/**
 * Marks a new sink whose `formerly` names no known sink. The name may be mistyped, in which case the new sink does not take over from the
 * old one.
 */
function withUnknownFormer(
  planned: PlannedSink,
  sinks: readonly SinkConfig[],
  leaving: readonly string[],
): PlannedSink {
  const formerly = sinks.find(({ name }) => name === planned.name)?.formerly;
  if (planned.kind !== 'added' || formerly === undefined || leaving.length === 0) return planned;
  return { ...planned, formerly, leaving };
}

function planSink(
  sink: SinkConfig,
  known: ReadonlyMap<string, LastSink>,
  leads: number,
  exact: Changes | undefined,
): PlannedSink[] {
  const { name, formerly, backfill } = sink;
  if (formerly !== undefined && cannotTakeName(name, formerly, known))
    return [{ kind: 'name-taken', name, formerly }];
  const before = known.get(name);
  const former = before || formerly === undefined ? undefined : known.get(formerly);
  if (former && formerly) {
    const options = former.config ? differingOptions(former.config, describeSink(sink)) : [];
    return [{ kind: 'renamed', name, formerly, options, pending: former.pending }];
  }
  if (!before) {
    const listed = sink.events.includes('created') ? leads : 0;
    return [{ kind: 'added', name, leads: listed, backfill, ...costPart(sink, listed) }];
  }
  const { active, pending, missed, config, quota } = before;
  if (!active)
    return [{ kind: 'back', name, leads: missed, backfill, pending, ...costPart(sink, missed, quota) }];
  const options = optionsOf(name, exact) ?? (config ? differingOptions(config, describeSink(sink)) : []);
  return options.length > 0 ? [{ kind: 'altered', name, options, pending }] : [];
}

/** Returns the cost of the leads that are owed to the sink. Makes no network call: the limit comes from an earlier answer or from the options. */
function costPart(
  { type, options, batch, backfill, mapping }: SinkConfig,
  leads: number,
  quota?: Quota,
): { readonly cost?: BackfillCost } {
  const cost = type.leadCost?.(options, batch.max);
  if (!cost || !backfill || leads === 0) return {};
  const limit = quota?.unit === cost.unit ? quota.limit : cost.limit;
  return {
    cost: {
      unit: cost.unit,
      amount: Math.ceil(leads / cost.leads) * cost.amount,
      at_most: mapping?.where !== undefined,
      ...(limit === undefined ? {} : { daily_limit: limit }),
    },
  };
}

function cannotTakeName(
  name: string,
  formerly: string | undefined,
  known: ReadonlyMap<string, LastSink>,
): boolean {
  const taken = known.get(name);
  const former = formerly === undefined ? undefined : known.get(formerly);
  return taken !== undefined && former !== undefined && isNameTaken(taken, former);
}

function planExports(
  { exports: last }: LastConfiguration,
  config: Config,
  exact: Changes | undefined,
): PlannedExport[] {
  const known = new Map(last.map((one) => [one.name, one.config]));
  const files = filesOf(config);
  const names = new Set(files.map(({ name }) => name));
  return [
    ...files.flatMap((one): PlannedExport[] => {
      const { name } = one;
      const before = known.get(name);
      const what = wordOf(one);
      if (before === undefined) return [{ kind: 'added', name, what }];
      const options = optionsOf(name, exact) ?? differingOptions(before, describeExport(one));
      return options.length > 0 ? [{ kind: 'altered', name, what, options }] : [];
    }),
    ...last
      .filter(({ name }) => !names.has(name))
      .map(
        ({ name, config }): PlannedExport => ({ kind: 'removed', name, what: wordOf(JSON.parse(config)) }),
      ),
  ];
}

/** Returns the word for an export or a backup. */
function wordOf(config: Pick<ExportConfig, 'format'>): FileWord {
  return isBackup(config) ? 'backup' : 'export';
}

/** Returns the changed options according to the exact comparison; undefined if there is no exact comparison. */
function optionsOf(name: string, exact: Changes | undefined): readonly string[] | undefined {
  return exact && (exact.altered.find((one) => one.name === name)?.options ?? []);
}

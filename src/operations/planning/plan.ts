import {
  type Changes,
  type ConfigChanges,
  describeExport,
  describeSink,
  describeSource,
  differingOptions,
} from '../../config/changes/compare-configs.ts';
import { type Config, filesOf, type SinkConfig, type SourceConfig } from '../../config/contract/config.ts';
import { type ExportConfig, isBackup } from '../../exports/contract/options.ts';
import type { Quota } from '../../leads/quota.ts';
import { isNameTaken, type LastDeclaration } from '../../ledger/contract/declaration.ts';
import { originOf } from '../../source/http-source.ts';
import type {
  BackfillCost,
  FileWord,
  Plan,
  PlannedExport,
  PlannedSink,
  PlannedSource,
} from './planned-changes.ts';

type LastSink = LastDeclaration['sinks'][number];

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

import type { ExportConfig } from '../../exports/contract/options.ts';
import { DEFAULT_BREAKER } from '../../leads/breaker-policy.ts';
import { Secret } from '../../platform/options/secret.ts';
import {
  type Config,
  DEFAULT_SERVER,
  filesOf,
  type SinkConfig,
  type SourceConfig,
} from '../contract/config.ts';

/** A source, sink, export or backup whose options changed. */
export interface AlteredEntry {
  readonly name: string;
  /** The options that differ, by their YAML names: `url`, `batch`. */
  readonly options: readonly string[];
}

/** The names of the sources, sinks or exports that differ. */
export interface Changes {
  readonly added: readonly string[];
  readonly removed: readonly string[];
  readonly altered: readonly AlteredEntry[];
}

/** The differences between two configurations. A disabled sink counts as absent. */
export interface ConfigChanges {
  readonly sources: Changes;
  readonly sinks: Changes;
  /** Includes backups. */
  readonly exports: Changes;
  /** Options outside sources, sinks and exports that a running leadsync can apply, such as `log.level`. */
  readonly live: readonly string[];
  /** Options that need a restart, such as `data_dir`. */
  readonly restart: readonly string[];
}

/** Compares two configurations after parsing, so a default that is written out in only one of them is not a difference. */
export function compareConfigs(before: Config, after: Config): ConfigChanges {
  const differing = (options: readonly Option[]) =>
    options.filter(({ of }) => !isSame(of(before), of(after))).map(({ name }) => name);
  return {
    sources: compareEntries(before.sources, after.sources, sourceOptions),
    sinks: compareEntries(before.sinks.filter(isEnabled), after.sinks.filter(isEnabled), sinkOptions),
    exports: compareEntries(filesOf(before), filesOf(after), exportOptions),
    live: differing(LIVE),
    restart: differing(RESTART),
  };
}

/** Returns the next configuration, but with the running values of the options that need a restart. */
export function withoutRestart(running: Config, next: Config): Config {
  const { dataDir, ledgerServer, queue, admin, tokenKey } = running;
  return {
    ...next,
    dataDir,
    ledgerServer,
    queue,
    admin,
    tokenKey,
    log: { ...next.log, format: running.log.format },
  };
}

interface Option {
  readonly name: string;
  readonly of: (config: Config) => unknown;
}

const LIVE: readonly Option[] = [
  { name: 'name', of: ({ name }) => name },
  { name: 'log.level', of: ({ log }) => log.level },
  { name: 'store.client_key', of: ({ clientKey }) => clientKey },
  { name: 'retention', of: ({ retention }) => retention },
  { name: 'alerts.to', of: ({ alerts }) => alerts.to },
  { name: 'alerts.heartbeat', of: ({ alerts }) => alerts.heartbeat },
  { name: 'alerts.when', of: ({ alerts }) => alerts.when },
  { name: 'admin.token', of: ({ adminTokens }) => adminTokens.find(({ name }) => name === 'admin') },
  { name: 'admin.tokens', of: ({ adminTokens }) => adminTokens.filter(({ name }) => name !== 'admin') },
  { name: 'admin.hosts', of: ({ adminHosts }) => adminHosts },
  { name: 'admin.public_url', of: ({ publicUrl }) => publicUrl },
  { name: 'admin.trusted_proxies', of: ({ adminProxies }) => adminProxies },
  {
    name: 'admin.trusted_header',
    of: ({ adminHeader }) => adminHeader && { ...adminHeader, roles: Object.fromEntries(adminHeader.roles) },
  },
  { name: 'admin.oidc', of: ({ adminLogin }) => adminLogin?.provider },
  { name: 'watch', of: ({ watch }) => watch },
  { name: 'ledger.create', of: ({ ledgerCreate }) => ledgerCreate },
  { name: 'ledger.min_free', of: ({ minFreeBytes }) => minFreeBytes },
  { name: 'stop.grace', of: ({ gracePeriodMs }) => gracePeriodMs },
];

const RESTART: readonly Option[] = [
  { name: 'data_dir', of: ({ dataDir }) => dataDir },
  { name: 'ledger.url', of: ({ ledgerServer }) => ledgerServer?.url },
  { name: 'ledger.schema', of: ({ ledgerServer = DEFAULT_SERVER }) => ledgerServer.schema },
  { name: 'ledger.connections', of: ({ ledgerServer = DEFAULT_SERVER }) => ledgerServer.connections },
  {
    name: 'queue.redis_url',
    of: ({ queue: { redis } }) => (redis?.kind === 'server' ? redis.url : undefined),
  },
  { name: 'queue.redis', of: ({ queue: { redis } }) => (redis?.kind === 'server' ? redis.tls : redis) },
  { name: 'queue.board', of: ({ queue }) => queue.board },
  { name: 'queue.prefix', of: ({ queue }) => queue.prefix },
  { name: 'admin.listen', of: ({ admin }) => admin },
  { name: 'tokens.encryption_key', of: ({ tokenKey }) => tokenKey },
  { name: 'log.format', of: ({ log }) => log.format },
];

/** Returns the paths of the secrets that differ, such as `sinks.crm.secret`. A disabled sink counts as absent. */
export function changedSecrets(before: Config, after: Config): string[] {
  const ofEntries = <Entry extends { readonly name: string }>(
    section: string,
    [one, other]: readonly [readonly Entry[], readonly Entry[]],
    optionsOf: (entry: Entry) => Record<string, unknown>,
  ) =>
    one.flatMap((entry) => {
      const now = other.find(({ name }) => name === entry.name);
      return now ? secretsIn(optionsOf(entry), optionsOf(now), `${section}.${entry.name}`) : [];
    });
  return [
    ...secretsIn(before.alerts, after.alerts, 'alerts'),
    ...ofEntries('sources', [before.sources, after.sources], sourceOptions),
    ...ofEntries('sinks', [before.sinks.filter(isEnabled), after.sinks.filter(isEnabled)], sinkOptions),
    ...ofEntries('exports', [before.exports, after.exports], exportOptions),
    ...ofEntries('backups', [before.backups, after.backups], exportOptions),
  ];
}

function secretsIn(one: unknown, other: unknown, path: string): string[] {
  if (one instanceof Secret || other instanceof Secret) return isSame(one, other) ? [] : [path];
  if (!isComposite(one) || !isComposite(other)) return [];
  const keys = new Set([...Object.keys(one), ...Object.keys(other)]);
  return [...keys].flatMap((key) => secretsIn(one[key], other[key], `${path}.${key}`));
}

/** Whether a change to an option takes effect only at a restart, not at a reload. `path` is the path of the option or of a part of it. */
export function needsRestart(path: string): boolean {
  return RESTART.some(({ name }) => path === name || path.startsWith(`${name}.`));
}

function isEnabled({ enabled }: SinkConfig): boolean {
  return enabled;
}

function compareEntries<Entry extends { readonly name: string }>(
  before: readonly Entry[],
  after: readonly Entry[],
  optionsOf: (entry: Entry) => Record<string, unknown>,
): Changes {
  const old = new Map(before.map((entry) => [entry.name, entry]));
  const names = new Set(after.map(({ name }) => name));
  const kept = after.flatMap((entry) => {
    const was = old.get(entry.name);
    return was ? [{ name: entry.name, options: differingKeys(optionsOf(was), optionsOf(entry)) }] : [];
  });
  return {
    added: after.map(({ name }) => name).filter((name) => !old.has(name)),
    removed: before.map(({ name }) => name).filter((name) => !names.has(name)),
    altered: kept.filter(({ options }) => options.length > 0),
  };
}

function sinkOptions({
  name: _,
  enabled: __,
  formerly: ___,
  type,
  options,
  timeoutMs,
  mapping,
  mappingTests: ____,
  region: _____,
  breaker,
  ...common
}: SinkConfig) {
  const { perLead, ...ofLeads } = mapping ?? {};
  // Leaves out the default, because the descriptions that earlier versions stored do not contain it.
  const set = isSame(breaker, DEFAULT_BREAKER) ? {} : { breaker };
  return { ...common, ...set, ...ofLeads, ...perLead, ...options, timeout: timeoutMs, type: type.type };
}

function sourceOptions({ options, poll }: SourceConfig) {
  return { ...options, poll };
}

function exportOptions({ name: _, target, schedule, ...options }: ExportConfig) {
  return { ...options, ...('at' in schedule ? schedule : { every: schedule.everyMs }), ...target };
}

/** Returns an export's configuration as JSON without secrets. */
export function describeExport(entry: ExportConfig): string {
  return JSON.stringify(exportOptions(entry));
}

/** Returns a sink's configuration as JSON without secrets, to be stored and compared by `differingOptions`. */
export function describeSink(sink: SinkConfig): string {
  return JSON.stringify(sinkOptions(sink));
}

/** Returns a sink's type and destination without secrets: `csv /var/drop`, `postgres leadsync`, `webhook`. */
export function placeOf({ type, options }: SinkConfig): string {
  return [type.type, ...(type.place ?? []).map((option) => options[option])].filter(Boolean).join(' ');
}

/** Returns a source's configuration as JSON without secrets, to be stored and compared by `differingOptions`. */
export function describeSource(source: SourceConfig): string {
  return JSON.stringify(sourceOptions(source));
}

/** Returns the names of the options that differ between two descriptions. Secrets are not compared. */
export function differingOptions(before: string, after: string): readonly string[] {
  return differingKeys(JSON.parse(before), JSON.parse(after));
}

function differingKeys(before: Record<string, unknown>, after: Record<string, unknown>): string[] {
  const keys = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...keys].filter((key) => !isSame(before[key], after[key]));
}

/** Whether two option values are the same. Secrets are compared by value, without revealing the value. */
function isSame(one: unknown, other: unknown): boolean {
  if (one instanceof Secret) return other instanceof Secret && one.equals(other);
  if (!isComposite(one) || !isComposite(other)) return Object.is(one, other);
  if (Array.isArray(one) !== Array.isArray(other)) return false;
  return differingKeys(one, other).length === 0;
}

function isComposite(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

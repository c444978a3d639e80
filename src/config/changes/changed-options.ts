import type { Config, ConfigValue } from '../contract/config.ts';
import { type Changes, changedSecrets, compareConfigs, needsRestart } from './compare-configs.ts';

/** An option that a configuration would change. */
export interface ChangedOption {
  /** The path of the option: `sinks.crm.concurrency`. */
  readonly path: string;
  /** The former value; null if the option was not in effect. A secret reads `[secret]`. */
  readonly before: string | null;
  /** The new value; null if the option is no longer in effect. A secret reads `[secret]`. */
  readonly after: string | null;
  /** Whether the change takes effect only at a restart, not at a reload. */
  readonly restart: boolean;
}

const SECRET = '[secret]';

/** Returns every option that differs between two configurations, including options whose secret differs. */
export function changedOptions(before: Config, after: Config): ChangedOption[] {
  const shown = changedValues(withNewNames(before.values, after.sinks), after.values);
  const { sources, sinks, exports, live, restart } = compareConfigs(before, after);
  const altered = (section: string, { altered: entries }: Changes) =>
    entries.flatMap(({ name, options }) => options.map((option) => `${section}.${name}.${option}`));
  const backups = new Set(after.backups.map(({ name }) => name));
  const ofFiles = (isBackup: boolean) => ({
    ...exports,
    altered: exports.altered.filter(({ name }) => backups.has(name) === isBackup),
  });
  const differing = [
    ...altered('sources', sources),
    ...altered('sinks', sinks),
    ...altered('exports', ofFiles(false)),
    ...altered('backups', ofFiles(true)),
    ...live,
    ...restart,
  ];
  // Changed secrets are compared separately, because every secret is shown as `[secret]`.
  const secrets = changedSecrets(before, after).filter((path) => !shown.some((one) => one.path === path));
  const found = [...shown.map(({ path }) => path), ...secrets];
  const others = differing.filter((option) => !found.some((path) => isWithin(path, option)));
  return [
    ...shown,
    ...[...secrets, ...others].map((path) => ({
      path,
      before: SECRET,
      after: SECRET,
      restart: needsRestart(path),
    })),
  ];
}

/** Returns the values with the new name of each sink that the configuration renames. */
function withNewNames(values: readonly ConfigValue[], sinks: Config['sinks']): readonly ConfigValue[] {
  const named = (path: string) => {
    const sink = sinks.find(
      ({ formerly }) => formerly !== undefined && path.startsWith(`sinks.${formerly}.`),
    );
    const isRename = sink && !values.some((one) => one.path.startsWith(`sinks.${sink.name}.`));
    return isRename ? `sinks.${sink.name}${path.slice(`sinks.${sink.formerly}`.length)}` : path;
  };
  return values.map((value) => ({ ...value, path: named(value.path) }));
}

/**
 * Returns the options whose shown values differ. Leaves out the defaults of entries that only one of the configurations has, such as a new
 * sink. Does not find changed secrets.
 */
function changedValues(before: readonly ConfigValue[], after: readonly ConfigValue[]): ChangedOption[] {
  const old = new Map(before.map(({ path, value }) => [path, value]));
  const isSet = ({ origin }: ConfigValue) => origin !== 'default';
  const names = new Set(after.map(({ path }) => path));
  const change = (path: string, was: string | null, is: string | null) =>
    was === is ? [] : [{ path, before: was, after: is, restart: needsRestart(path) }];
  return [
    ...after
      .filter((one) => isSet(one) || old.has(one.path))
      .flatMap(({ path, value }) => change(path, old.get(path) ?? null, value)),
    ...before
      .filter((one) => isSet(one) && !names.has(one.path))
      .flatMap(({ path, value }) => change(path, value, null)),
  ];
}

/** Returns a changed option as a line: `sinks.crm.concurrency: 4 -> 8`. */
export function describeChangedOption({ path, before, after, restart }: ChangedOption): string {
  const how =
    before === SECRET && after === SECRET ? 'changed' : `${before ?? '(not set)'} -> ${after ?? '(not set)'}`;
  return `${path}: ${how}${restart ? ' (needs a restart)' : ''}`;
}

function isWithin(path: string, option: string): boolean {
  return path === option || path.startsWith(`${option}.`) || path.startsWith(`${option}[`);
}

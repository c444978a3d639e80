import type { Changes, ConfigChanges } from './compare-configs.ts';

/** Returns a short text for each source, sink and export that is new, removed or altered: `sink crm: url, timeout`. */
export function describeChanges({
  sources,
  sinks,
  exports,
}: Pick<ConfigChanges, 'sources' | 'sinks' | 'exports'>): string[] {
  return [...describe('source', sources), ...describe('sink', sinks), ...describe('export', exports)];
}

function describe(kind: string, { added, removed, altered }: Changes): string[] {
  return [
    ...added.map((name) => `${kind} ${name} is new`),
    ...removed.map((name) => `${kind} ${name} was removed`),
    ...altered.map(({ name, options }) => `${kind} ${name}: ${options.join(', ')}`),
  ];
}

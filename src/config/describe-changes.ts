import type { Changes, ConfigChanges } from './compare-configs.ts';

/** What has changed, in a few words each: `sink crm: url, timeout`. What only a restart changes is not among them. */
export function describeChanges({ sources, sinks, live }: Omit<ConfigChanges, 'restart'>): string[] {
  return [...describe('source', sources), ...describe('sink', sinks), ...live];
}

function describe(kind: string, { added, removed, altered }: Changes): string[] {
  return [
    ...added.map((name) => `${kind} ${name} is new`),
    ...removed.map((name) => `${kind} ${name} is gone`),
    ...altered.map(({ name, options }) => `${kind} ${name}: ${options.join(', ')}`),
  ];
}

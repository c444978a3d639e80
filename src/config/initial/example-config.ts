import type { SinkType } from '../../sinks/sink.ts';
import { newConfig, sinkEntry } from './new-config.ts';

/**
 * A commented configuration to begin with: the first type of sink that needs no more than a folder is in force, the
 * others are shown. Valid once the variables in it are set.
 */
export function exampleConfig(sinkTypes: readonly SinkType[]): string {
  const shown = sinkTypes.find(({ paths, setup }) => paths?.includes(setup.option));
  const begun = newConfig(
    {
      serviceUrl: 'https://leads.example.com',
      every: '30s',
      sinks: shown ? { [shown.type]: shown.setup.standard } : {},
    },
    sinkTypes,
  );
  const others = sinkTypes
    .filter((type) => type !== shown)
    .map((type) => sinkEntry(type, type.setup.standard));
  return begun + others.map(commentedOut).join('');
}

function commentedOut(entry: string): string {
  return entry.replaceAll(/^ {2}(?=.)/gm, '  # ');
}
